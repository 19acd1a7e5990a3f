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

  // Where the pointer meets an edge.
  all(document, 'svg .edge > .line').forEach(function (line) {
    var hit = line.cloneNode();
    hit.setAttribute('class', 'hit');
    hit.removeAttribute('marker-end');
    line.parentNode.insertBefore(hit, line);
  });

  // The same curve as report/labels.go draws: its begin, its two middle points and its end.
  function curve(a, b, y1, y2) {
    var reach = 36, far;
    if (b[0] >= a[1]) return [a[1], y1, a[1] + reach, b[0] - reach, b[0] - 1, y2];
    if (b[1] <= a[0]) return [a[0], y1, a[0] - reach, b[1] + reach, b[1] + 1, y2];
    if (y1 <= y2) { far = Math.max(a[1], b[1]) + reach; return [a[1], y1, far, far, b[1] + 1, y2]; }
    far = Math.min(a[0], b[0]) - reach;
    return [a[0], y1, far, far, b[0] - 1, y2];
  }
  function along(c, t) {
    var u = 1 - t, b0 = u * u * u, b1 = 3 * u * u * t, b2 = 3 * u * t * t, b3 = t * t * t;
    return [b0 * c[0] + b1 * c[2] + b2 * c[3] + b3 * c[4], (b0 + b1) * c[1] + (b2 + b3) * c[5]];
  }
  // The middle of a name of width w that meets nothing taken, as report/labels.go finds it; null if there is none.
  function place(c, w, left, taken) {
    var found = null;
    var free = function (x, y) {
      var at = [x - w / 2, y - 6.5, x + w / 2, y + 6.5];
      if (at[0] < left || at[1] < 2 || taken.some(function (t) {
        return at[0] < t[2] && t[0] < at[2] && at[1] < t[3] && t[1] < at[3];
      })) return false;
      found = { x: x, y: y, at: at };
      return true;
    };
    var middle = along(c, 0.5);
    [0, 1, -1].some(function (side) {
      return [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].some(function (t) {
        var p = along(c, t);
        return free(p[0] + side * (w / 2 + 5), p[1]);
      });
    });
    for (var r = 1; !found && r <= 12; r++) {
      for (var k = 0; !found && k < 16; k++) {
        free(middle[0] + 20 * r * Math.cos(Math.PI * k / 8), middle[1] + 13 * r * Math.sin(Math.PI * k / 8));
      }
    }
    return found;
  }

  // A timeline: zoomed by its positions, not by its letters.
  function Timeline(frame) {
    var svg = frame.querySelector('svg.timeline'), box = frame.querySelector('.scroll'), me = this;
    var view = svg.getAttribute('viewBox').split(' ').map(Number), zoom = 1, scale = false;
    var left = Number(svg.getAttribute('data-left')), axis = Number(svg.getAttribute('data-axis'));
    var names = all(svg, '.name'), bars = all(svg, '.bar'), heights = bars.map(function (g) { return g.querySelector('.txn').getBBox().height; });
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
      var far = left + all(svg, 'text.axis').pop().textContent.length * 6.7 + 10, taken = [[0, axis - 6, Infinity, Infinity]]; // how far right something is, the axis first; what is taken
      spans.forEach(function (p, i) {
        var y = Number(bars[i].getAttribute('data-y'));
        taken.push([p[0] - 1, y - 1, p[1] + 1, y + heights[i] + 1]);
      });
      all(svg, '.mark').forEach(function (g) {
        var x = at(Number(g.getAttribute(scale ? 'data-s' : 'data-x'))), y = g.transform.baseVal.getItem(0).matrix.f, t = g.querySelector('text');
        var end = x + (t ? t.textContent.length * 6.7 + 8 : 6);
        taken.push([x - 6, y, end, y + 18]);
        far = Math.max(far, end + 8);
      });
      all(svg, '.edge').forEach(function (g, i) {
        var b = numbers(g, 'data-b'), y = numbers(g, 'data-y'), c = curve(spans[b[0]], spans[b[1]], y[0], y[1]);
        var d = 'M' + c[0] + ',' + c[1] + ' C' + c[2] + ',' + c[1] + ' ' + c[3] + ',' + c[5] + ' ' + c[4] + ',' + c[5];
        all(g, 'path').forEach(function (p) { p.setAttribute('d', d); });
        var t = names[i], off = g.classList.contains('off');
        t.classList.toggle('off', off);
        if (off) return;
        var to = place(c, t.textContent.length * 6.7 + 8, 100, taken);
        t.classList.toggle('crowded', !to);
        if (!to) return;
        t.setAttribute('x', to.x);
        t.setAttribute('y', to.y + 4);
        taken.push(to.at);
        far = Math.max(far, to.at[2] + 4);
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
      var line = svg.querySelector('path.order'), places = all(svg, '.place'), before = 0, shown = [];
      if (line) {
        line.setAttribute('d', words(line, 'data-path').map(function (p, i) {
          var q = p.split(','), span = spans[Number(q[0])], begins = q.length > 3;
          if (begins) before = 0;
          before = Math.min(Math.max(before + 9, span[0] + Number(q[2])), Math.max(span[1] - 9, span[0] + 1));
          places[i].setAttribute('transform', 'translate(' + before + ',' + q[1] + ')');
          var y = Number(q[1]), crowded = shown.some(function (o) { return Math.abs(o[0] - before) < 17 && Math.abs(o[1] - y) < 17; });
          places[i].classList.toggle('crowded', crowded);
          if (!crowded) shown.push([before, y]);
          return (begins ? 'M' : 'L') + before + ',' + q[1];
        }).join(' '));
      }
      var width = spans.reduce(function (w, s) { return Math.max(w, s[1]); }, 416) + 24;
      width = Math.max(width, far, last);
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
      all(svg, '.sess, .side').forEach(function (t) { t.setAttribute('x', (t.tagName === 'text' ? 4 : 0) + box.scrollLeft); });
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

  all(document, '.step').forEach(function (step) { // an edge says what its sentence does
    all(step.closest('section'), '.edge[data-e~="' + step.getAttribute('data-e') + '"] title').forEach(function (t) {
      t.textContent = step.querySelector('summary').textContent;
    });
  });
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
      var frame = section.querySelector('.frame');
      if (frame && frame.timeline) frame.timeline.lay(); // the names of these edges have more room
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

  // The order of a valid history stands in the page as text; a group of it becomes a table when it is looked at.
  function table(g) {
    var pre = g.querySelector('pre.rows');
    if (!pre) return;
    var t = document.createElement('table'), body = t.createTBody(), drawn = words(pre, 'data-rows');
    pre.textContent.split('\n').forEach(function (line, i) {
      if (!line) return;
      var row = body.insertRow();
      if (drawn[i]) row.setAttribute('data-t', drawn[i]);
      [String(Number(pre.getAttribute('data-from')) + i)].concat(line.split('\t')).forEach(function (text) {
        row.insertCell().textContent = text;
      });
    });
    g.replaceChild(t, pre);
  }
  all(document, 'details.group').forEach(function (g) { g.addEventListener('toggle', function () { table(g); }); });
  // It can be searched.
  all(document, '.search').forEach(function (p) {
    var input = p.querySelector('input'), told = p.querySelector('output'), section = p.closest('section');
    p.hidden = false;
    input.addEventListener('input', function () {
      var text = input.value.trim().toLowerCase(), found = 0;
      all(section, 'details.group').forEach(function (g) {
        var here = 0;
        table(g);
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
