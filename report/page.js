'use strict';
(function () {
  var all = function (root, what) { return Array.prototype.slice.call(root.querySelectorAll(what)); };
  var words = function (e, name) { return (e.getAttribute(name) || '').split(' ').filter(Boolean); };
  var numbers = function (e, name) { return words(e, name).map(Number); };
  var button = function (text, about, act) {
    var b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.title = about;
    b.setAttribute('aria-label', about);
    b.addEventListener('click', act);
    return b;
  };

  // The same curve as report/timeline.go draws.
  function curve(a, b, y1, y2) {
    var x1, x2, d1, d2, reach = 36, anchor = 'middle';
    if (b[0] >= a[1]) { x1 = a[1]; x2 = b[0]; d1 = 1; d2 = -1; }
    else if (b[1] <= a[0]) { x1 = a[0]; x2 = b[1]; d1 = -1; d2 = 1; }
    else if (y1 <= y2) { x1 = a[1]; x2 = b[1]; d1 = d2 = 1; anchor = 'start'; }
    else { x1 = a[0]; x2 = b[0]; d1 = d2 = -1; anchor = 'end'; }
    var middle = d1 === d2 ? (x1 + x2) / 2 + d1 * reach * 0.75 : (x1 + x2) / 2;
    return { d: 'M' + x1 + ',' + y1 + ' C' + (x1 + d1 * reach) + ',' + y1 + ' ' + (x2 + d2 * reach) + ',' + y2 +
      ' ' + (x2 + d2) + ',' + y2, x: middle, y: (y1 + y2) / 2 + 4, anchor: anchor };
  }

  // A timeline: zoomed by its positions, not by its letters.
  function Timeline(frame) {
    var svg = frame.querySelector('svg.timeline'), box = frame.querySelector('.scroll'), me = this;
    var view = svg.getAttribute('viewBox').split(' ').map(Number), left = 104, zoom = 1, scale = false;
    var bars = all(svg, '.bar');
    var at = function (x) { return left + (x - left) * zoom; };
    this.lay = function () {
      var spans = bars.map(function (g) {
        var x = numbers(g, scale ? 'data-s' : 'data-x'), a = at(x[0]), b = Math.max(at(x[1]), a + 3);
        g.setAttribute('transform', 'translate(' + a + ',' + g.getAttribute('data-y') + ')');
        g.classList.toggle('thin', b - a + 0.5 < Number(g.getAttribute('data-w')) && (scale || zoom < 1));
        var shape = g.querySelector('.txn');
        if (shape.tagName === 'rect') shape.setAttribute('width', b - a);
        else shape.setAttribute('transform', 'scale(' + (b - a) / Math.max(numbers(g, 'data-x')[1] - numbers(g, 'data-x')[0], 1) + ',1)');
        return [a, b];
      });
      var far = 0; // where the names of edges on the right-hand side end
      all(svg, '.edge').forEach(function (g) {
        var b = numbers(g, 'data-b'), y = numbers(g, 'data-y'), c = curve(spans[b[0]], spans[b[1]], y[0], y[1]);
        all(g, 'path').forEach(function (p) { p.setAttribute('d', c.d); });
        var t = g.querySelector('text');
        t.setAttribute('x', c.x);
        t.setAttribute('y', c.y);
        t.setAttribute('text-anchor', c.anchor);
        if (c.anchor === 'start') far = Math.max(far, c.x + t.textContent.length * 6.7 + 8);
      });
      var last = -1;
      all(svg, '.tick, .mark').forEach(function (g) {
        var x = at(Number(g.getAttribute(scale ? 'data-s' : 'data-x')));
        g.setAttribute('transform', g.getAttribute('transform').replace(/translate\([^,]*/, 'translate(' + x));
        if (g.classList.contains('mark')) return;
        g.classList.toggle('crowded', x < last);
        if (x >= last) last = x + g.querySelector('text').textContent.length * 6.7 + 10;
      });
      all(svg, '.fold').forEach(function (g) { g.classList.toggle('crowded', scale || zoom !== 1); });
      var line = svg.querySelector('path.order'), places = all(svg, '.place'), before = 0;
      if (line) {
        line.setAttribute('d', words(line, 'data-path').map(function (p, i) {
          var q = p.split(','), span = spans[Number(q[0])];
          before = Math.min(Math.max(before + 9, span[0] + 38), Math.max(span[1] - 9, span[0] + 1));
          places[i].setAttribute('transform', 'translate(' + before + ',' + q[1] + ')');
          return (i ? 'L' : 'M') + before + ',' + q[1];
        }).join(' '));
      }
      var width = spans.reduce(function (w, s) { return Math.max(w, s[1]); }, 440) + 56;
      width = Math.max(width, far);
      svg.setAttribute('width', width);
      svg.setAttribute('viewBox', '0 0 ' + width + ' ' + view[3]);
      all(svg, 'line.wide').forEach(function (l) { l.setAttribute('x2', width); });
    };
    this.zoom = function (factor) {
      var middle = (box.scrollLeft + box.clientWidth / 2) / svg.clientWidth;
      zoom = Math.min(64, Math.max(0.05, zoom * factor));
      me.lay();
      box.scrollLeft = middle * svg.clientWidth - box.clientWidth / 2;
    };
    this.fit = function () {
      zoom = 1;
      me.lay();
      var wide = Number(svg.getAttribute('width'));
      zoom = Math.max(0.05, (box.clientWidth - 170) / Math.max(wide - 160, 1));
      me.lay();
      box.scrollLeft = 0;
    };
    this.readable = function () { zoom = 1; me.lay(); };
    this.toScale = function () {
      if (svg.getAttribute('data-scale') !== 'true') return;
      scale = !scale;
      pressed.setAttribute('aria-pressed', String(scale));
      me.lay();
    };
    this.show = function (g) { // brings a bar or an edge into view
      var b = g.getBBox(), x = b.x;
      if (g.transform.baseVal.numberOfItems) x += g.transform.baseVal.getItem(0).matrix.e;
      if (x < box.scrollLeft || x + b.width > box.scrollLeft + box.clientWidth) box.scrollLeft = Math.max(0, x - 120);
    };
    box.addEventListener('scroll', function () { // the sessions' names stay
      all(svg, '.sess').forEach(function (t) { t.setAttribute('x', 4 + box.scrollLeft); });
    });
    var tools = frame.querySelector('.tools'), pressed;
    tools.hidden = false;
    tools.appendChild(button('−', 'Zoom out', function () { me.zoom(1 / 1.4); }));
    tools.appendChild(button('+', 'Zoom in', function () { me.zoom(1.4); }));
    tools.appendChild(button('Fit', 'Fit the timeline to the page', me.fit));
    tools.appendChild(button('Readable', 'As long as the text needs', me.readable));
    pressed = button('To scale', 'Draw the time to scale, idle spans too', me.toScale);
    pressed.setAttribute('aria-pressed', 'false');
    if (svg.getAttribute('data-scale') === 'true') tools.appendChild(pressed);
    tools.appendChild(button('SVG', 'Save the timeline as SVG', function () { save(svg, 'timeline'); }));
    tools.appendChild(button('PNG', 'Save the timeline as PNG', function () { save(svg, 'timeline', true); }));
    var held = null;
    box.addEventListener('pointerdown', function (e) { if (e.button === 0) held = { x: e.clientX, at: box.scrollLeft }; });
    window.addEventListener('pointermove', function (e) { if (held) box.scrollLeft = held.at - (e.clientX - held.x); });
    window.addEventListener('pointerup', function () { held = null; });
    box.addEventListener('wheel', function (e) {
      if (!e.ctrlKey) return;
      e.preventDefault();
      me.zoom(e.deltaY > 0 ? 1 / 1.2 : 1.2);
    }, { passive: false });
    frame.timeline = this;
    var first = svg.querySelector('.bar:not(.context):not(.witness)');
    if (first && !svg.querySelector('path.order')) this.show(first);
  }

  // Saving a figure: with the page's style, on the page's paper.
  function save(svg, name, png) {
    var copy = svg.cloneNode(true), style = document.createElementNS('http://www.w3.org/2000/svg', 'style');
    var heads = document.querySelector('.heads defs');
    style.textContent = document.querySelector('style').textContent;
    copy.insertBefore(style, copy.firstChild);
    if (heads) copy.insertBefore(heads.cloneNode(true), copy.firstChild);
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    var size = svg.getBoundingClientRect();
    copy.setAttribute('width', size.width);
    copy.setAttribute('height', size.height);
    var text = new XMLSerializer().serializeToString(copy);
    var give = function (url, ending) {
      var a = document.createElement('a');
      a.href = url;
      a.download = name + ending;
      a.click();
    };
    var blob = new Blob([text], { type: 'image/svg+xml' });
    if (!png) { give(URL.createObjectURL(blob), '.svg'); return; }
    var image = new Image();
    image.onload = function () {
      var canvas = document.createElement('canvas'), factor = Math.min(2, 16000 / Math.max(size.width, size.height));
      canvas.width = size.width * factor;
      canvas.height = size.height * factor;
      var c = canvas.getContext('2d');
      c.fillStyle = getComputedStyle(document.body).backgroundColor;
      c.fillRect(0, 0, canvas.width, canvas.height);
      c.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (b) { give(URL.createObjectURL(b), '.png'); });
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  }

  all(document, '.frame').forEach(function (f) { new Timeline(f); });

  // An anomaly: its three views light up together, its cases are shown one at a time.
  all(document, '.anomaly').forEach(function (section) {
    var pinned = null, cases = all(section, '.case'), now = 0;
    var steps = function () { return all(cases[now] || section, '.step'); };
    function light(ids, txns) {
      all(section, '.lit').forEach(function (e) { e.classList.remove('lit'); });
      section.classList.toggle('picking', ids.length > 0);
      var involved = {};
      all(section, '[data-e]').forEach(function (e) {
        if (!words(e, 'data-e').some(function (id) { return ids.indexOf(id) >= 0; })) return;
        e.classList.add('lit');
        numbers(e, 'data-b').forEach(function (i) {
          var bar = all(e.closest('svg') || e, '.bar')[i];
          if (bar) involved[bar.getAttribute('data-t')] = true;
        });
      });
      txns.forEach(function (t) { involved[t] = true; });
      all(section, '[data-t]').forEach(function (e) {
        if (involved[e.getAttribute('data-t')]) e.classList.add('lit');
      });
    }
    function relight() { if (pinned) light(pinned, []); else light([], []); }
    function pin(ids, from) {
      pinned = ids;
      light(ids, []);
      var step = all(section, '.step').filter(function (s) { return ids.indexOf(s.getAttribute('data-e')) >= 0; })
        .sort(function (a, b) { return (cases[now] && cases[now].contains(b) ? 1 : 0) - (cases[now] && cases[now].contains(a) ? 1 : 0); })[0];
      if (step && from !== 'step') {
        step.open = true;
        step.scrollIntoView({ block: 'nearest' });
      }
      var edge = all(section, 'svg.timeline .edge.lit')[0], frame = edge && edge.closest('.frame');
      if (frame && from !== 'figure') frame.timeline.show(edge);
    }
    section.addEventListener('pointerover', function (e) {
      var what = e.target.closest('[data-e], [data-t]');
      if (!what || !section.contains(what)) return;
      if (what.hasAttribute('data-e')) light(words(what, 'data-e'), []);
      else light([], [what.getAttribute('data-t')]);
    });
    section.addEventListener('pointerout', relight);
    section.addEventListener('focusin', function (e) {
      var what = e.target.closest('.step');
      if (what) { pinned = words(what, 'data-e'); pin(pinned, 'step'); }
    });
    section.addEventListener('click', function (e) {
      var what = e.target.closest('.edge[data-e], .step');
      if (!what) return;
      pin(words(what, 'data-e'), what.classList.contains('step') ? 'step' : 'figure');
    });

    function show(i) {
      if (cases.length < 2) return;
      now = (i + cases.length) % cases.length;
      cases.forEach(function (c, j) { c.hidden = j !== now; });
      var mark = cases[now].id + 'e';
      all(section, 'svg.timeline .edge').forEach(function (g) {
        g.classList.toggle('off', !words(g, 'data-e').some(function (id) { return id.indexOf(mark) === 0; }));
      });
      count.textContent = 'Case ' + (now + 1) + ' of ' + cases.length;
      pinned = null;
      relight();
    }
    var count = document.createElement('span');
    count.setAttribute('role', 'status');
    if (cases.length > 1) {
      var stepper = document.createElement('div');
      stepper.className = 'stepper';
      stepper.appendChild(button('‹', 'The case before', function () { show(now - 1); }));
      stepper.appendChild(count);
      stepper.appendChild(button('›', 'The next case', function () { show(now + 1); }));
      cases[0].parentNode.insertBefore(stepper, cases[0]);
      section.classList.add('stepped');
      show(0);
    }
    section.addEventListener('keydown', function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === 'INPUT') return;
      var list = steps(), i = list.indexOf(e.target.closest('.step')), frame = section.querySelector('.frame');
      var inFigure = e.target.classList.contains('scroll');
      if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && list.length && !inFigure) {
        var next = list[Math.min(list.length - 1, Math.max(0, i < 0 ? 0 : i + (e.key === 'ArrowDown' ? 1 : -1)))];
        next.querySelector('summary').focus();
      } else if ((e.key === 'ArrowRight' || e.key === 'ArrowLeft') && cases.length > 1 && !inFigure) {
        var inside = cases[now].contains(e.target);
        show(now + (e.key === 'ArrowRight' ? 1 : -1));
        if (inside && steps()[0]) steps()[0].querySelector('summary').focus();
      } else if (e.key === 'Escape') { pinned = null; relight(); }
      else if (frame && (e.key === '+' || e.key === '=')) frame.timeline.zoom(1.4);
      else if (frame && e.key === '-') frame.timeline.zoom(1 / 1.4);
      else if (frame && e.key === '0') frame.timeline.fit();
      else if (frame && e.key === 's') frame.timeline.toScale();
      else return;
      e.preventDefault();
    });
  });

  // The order of a valid history can be searched.
  all(document, '.search').forEach(function (p) {
    var input = p.querySelector('input'), told = p.querySelector('output'), section = p.closest('section');
    p.hidden = false;
    input.addEventListener('input', function () {
      var text = input.value.trim().toLowerCase(), found = 0;
      all(section, 'details.group').forEach(function (g) {
        var here = 0;
        all(g, 'tr').forEach(function (row) {
          var is = !text || row.textContent.toLowerCase().indexOf(text) >= 0;
          row.hidden = !is;
          if (is) here++;
        });
        g.hidden = !here;
        g.open = text !== '' && here > 0;
        found += here;
      });
      told.textContent = text ? found + ' found' : '';
    });
  });
  all(document, '.keys').forEach(function (p) { p.hidden = false; });
}());
