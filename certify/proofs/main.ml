(* The shell of the kernel: it reads a history and what is claimed of it, asks the kernel, and prints the answer.
   docs/kernel-format.md describes the lines.  Nothing here is proven; what it must do right is to hand the history of
   the file, whole, to the kernel. *)

open Kernel

exception Bad of string

let chan = ref stdin
let buffer = Bytes.create 65536
let filled = ref 0
let at = ref 0
let line = ref 1

let bad_at line what = raise (Bad (Printf.sprintf "line %d: %s" line what))
let bad what = bad_at !line what
let byte c = bad (Printf.sprintf "the byte 0x%02x; expected ASCII text" (Char.code c))

(* The next byte, or '\000' at the end of the file: no file has that byte, nor any that might hide from a reader. *)
let rec peek () =
  if !at < !filled then
    match Bytes.unsafe_get buffer !at with
    | (' ' .. '~' | '\t' | '\n' | '\r') as c -> c
    | c -> byte c
  else begin
    filled := input !chan buffer 0 65536;
    at := 0;
    if !filled = 0 then '\000' else peek ()
  end

let skip () = incr at
let return () = skip (); if peek () <> '\n' then byte '\r'

let rec blanks () =
  match peek () with
  | ' ' | '\t' -> skip (); blanks ()
  | '\r' -> return ()
  | '#' -> comment ()
  | _ -> ()

and comment () = match peek () with '\n' | '\000' -> () | '\r' -> return () | _ -> skip (); comment ()

let at_end () = blanks (); match peek () with '\n' | '\000' -> true | _ -> false
let limit = 100_000_000_000_000_000
(* A number from 0 on *)
let number () =
  blanks ();
  let rec go n digits =
    match peek () with
    | '0' .. '9' as c ->
        skip ();
        let n = (n * 10) + Char.code c - 48 in
        if n >= limit then bad (Printf.sprintf "the number is too large; expected at most %d" (limit - 1));
        go n true
    | _ -> if digits then n else bad "expected a number"
  in
  let n = go 0 false in
  (match peek () with ' ' | '\t' | '\r' | '\n' | '#' | ':' | '\000' -> () | _ -> bad "expected a number");
  n

(* A number from 1 on *)
let name () = match number () with 0 -> bad "0; expected a number from 1 on" | n -> n
let optional () = match number () with 0 -> None | n -> Some n
let text = Buffer.create 64
let word () =
  blanks ();
  Buffer.clear text;
  let rec go () =
    match peek () with
    | ' ' | '\t' | '\r' | '\n' | '#' | '\000' -> Buffer.contents text
    | c -> skip (); Buffer.add_char text c; go ()
  in
  go ()

(* Numbers up to the end of the line, the last one first *)
let rec rest_reversed l = if at_end () then l else rest_reversed (name () :: l)
let rest () = List.rev (rest_reversed [])
(* A cell is written with its oldest element first, and kept with the newest first. *)
let cell () = rest_reversed []

let end_of_line () =
  if not (at_end ()) then bad "the line goes on; expected its end";
  if peek () <> '\n' then bad "expected the line to end: the file may be cut off";
  skip ();
  incr line

let weak_of = function
  | "read-committed" -> Some ReadCommitted
  | "read-atomic" -> Some ReadAtomic
  | "causal" -> Some Causal
  | _ -> None

let level_of = function
  | "serializable" -> serializable
  | "session-serializable" -> session_serializable
  | "strict-serializable" -> strict_serializable
  | "snapshot-isolation" -> snapshot_isolation
  | "session-snapshot-isolation" -> session_snapshot_isolation
  | "strict-snapshot-isolation" -> strict_snapshot_isolation
  | _ -> bad (Printf.sprintf "level %S; expected one of the nine that the kernel knows" (Buffer.contents text))

(* What is read, so far; of some lines where they are *)
let begun = ref false
let level = ref None
let by_stamps = ref false
let init = ref PositiveMap.empty
let preds : (int, (bool * cell) list PositiveMap.t) Hashtbl.t = Hashtbl.create 16
let used : (int, int) Hashtbl.t = Hashtbl.create 16
let known : (int, unit) Hashtbl.t = Hashtbl.create 1024
let claim = ref 0
let ordered = ref 0
let first_saw = ref 0
let first_stamps = ref 0
let first_early = ref 0
let txns = ref []
let head = ref None
let body = ref []
let order = ref []
let steps = ref []
let weak_steps = ref []
let saw = ref PositiveMap.empty
let stamps = ref PositiveMap.empty
let wrong = ref None

let finish () =
  match !head with
  | None -> ()
  | Some t ->
      txns := { t with ops = List.rev !body } :: !txns;
      head := None;
      body := []

(* A claim follows the whole history. *)
let claims () = finish (); if !claim = 0 then claim := !line
let fact () = if !claim > 0 then bad (Printf.sprintf "line %d claims something of the history; expected the whole history before it" !claim)
let mark first = if !first = 0 then first := !line
let is_weak () = match !level with Some l -> weak_of l <> None && not !by_stamps | None -> false

let operation o =
  fact ();
  if !head = None then bad "an operation; expected its txn before it";
  (match o with
  | (Append _ | Match _) when is_weak () -> bad "expected only r and w at this level"
  | _ -> ());
  body := o :: !body

(* The transaction that a line is about, which stands before it, and has one such line only *)
let about what map =
  let t = name () in
  if not (Hashtbl.mem known t) then bad (Printf.sprintf "%s of transaction %d; expected that transaction before it" what t);
  if PositiveMap.mem t map then bad (Printf.sprintf "a second statement %s of transaction %d; expected one" what t);
  t

let pred p = match Hashtbl.find_opt preds p with Some m -> m | None -> PositiveMap.empty

let txn () =
  fact ();
  finish ();
  let id = name () in
  Hashtbl.replace known id ();
  let committed =
    match word () with "committed" -> true | "unknown" -> false | s -> bad (s ^ "; expected committed or unknown")
  in
  let session = name () in
  let began = number () in
  let ended = if at_end () then None else Some (number ()) in
  (match ended with Some e when e < began -> bad "the transaction ends before it begins" | _ -> ());
  head := Some { id; committed; session; began; ended; ops = [] }

let atom kind =
  match kind with
  | "counts" -> Counts (name ())
  | "before" -> let t = name () in Before (t, name ())
  | "reads" -> let t = name () in let k = name () in Reads (t, k, optional ())
  | s -> bad (Printf.sprintf "%S; expected counts, before or reads" s)

let lit () =
  match word () with
  | "not" -> (false, atom (word ()))
  | kind -> (true, atom kind)

let just () =
  match word () with
  | "must" -> let t = name () in JMust (t, name ())
  | "before" -> let t = name () in JBefore (t, name ())
  | "read" -> let t = name () in let k = name () in JRead (t, k, name ())
  | "anti" -> let t = name () in let k = name () in let w = optional () in JAnti (t, k, w, name ())
  | "elem" -> let t = name () in let k = name () in let e = name () in JElem (t, k, e, name ())
  | "miss" -> let t = name () in let k = name () in let e = name () in JMiss (t, k, e, name ())
  | "order" ->
      let t = name () in let k = name () in let e1 = name () in let w1 = name () in let e2 = name () in
      JOrder (t, k, e1, w1, e2, name ())
  | s -> bad (Printf.sprintf "%S; expected must, before, read, anti, elem, miss or order" s)

let rec until_end f l = if at_end () then List.rev l else until_end f (f () :: l)
let rup () =
  let rec lits l =
    if at_end () then bad "expected ':' and the numbers of steps"
    else if peek () = ':' then (skip (); List.rev l)
    else lits (lit () :: l)
  in
  let cl = lits [] in
  Rup (cl, rest ())

let step s = steps := s :: !steps
let rec times n f = if n = 0 then [] else let x = f () in x :: times (n - 1) f

let link () =
  match word () with
  | "session" -> let t = name () in LSession (t, name ())
  | "read" -> let t = name () in let i = name () in LRead (t, i, name ())
  | s -> bad (Printf.sprintf "%S; expected session or read" s)

let weak_edge () =
  match word () with
  | "session" -> let t = name () in WSession (t, name ())
  | "before" -> let t = name () in WBefore (t, name ())
  | "read" -> let t = name () in let i = name () in WRead (t, i, name ())
  | "seen" ->
      let t = name () in let i = name () in let w = name () in let u = name () in
      WSeen (t, i, w, u, times (name ()) link)
  | s -> bad (Printf.sprintf "%S; expected session, before, read or seen" s)

(* What is said otherwise at a weak level, where reads have numbers *)
let weak_step s =
  let s =
    match s with
    | "cycle" -> WCycle (until_end weak_edge [])
    | "source" -> let t = name () in WSource (t, name ())
    | "total" -> let t = name () in WTotal (t, name ())
    | "initial" -> let t = name () in let i = name () in let u = name () in WInitial (t, i, u, times (name ()) link)
    | "own" -> WOwn (name ())
    | "once" -> let t = name () in let i = name () in let w = optional () in WOnce (t, i, w, optional ())
    | "takes" -> let t = name () in WTakes (atom (word ()), t)
    | _ -> (match rup () with Rup (cl, hints) -> WRup (cl, hints) | _ -> assert false)
  in
  weak_steps := s :: !weak_steps

let statement = function
  | "r" -> let k = name () in operation (Read (k, cell ()))
  | "w" -> let k = name () in operation (Write (k, cell ()))
  | "a" -> let k = name () in operation (Append (k, name ()))
  | "m" ->
      let p = name () in
      if not (Hashtbl.mem used p) then Hashtbl.add used p !line;
      operation (Match (pred p, rest ()))
  | "txn" -> txn ()
  | "level" ->
      if !level <> None then bad "a second level; expected one";
      let s = word () in
      by_stamps := String.length s > 3 && String.sub s 0 3 = "ts:";
      let s = if !by_stamps then String.sub s 3 (String.length s - 3) else s in
      if !by_stamps || weak_of s = None then ignore (level_of s);
      level := Some s;
      if is_weak () && !begun then bad "expected the level before the rest"
  | "init" ->
      fact ();
      let k = name () in
      if PositiveMap.mem k !init then bad (Printf.sprintf "a second init of key %d; expected one" k);
      init := PositiveMap.add k (cell ()) !init
  | ("pred" | "maybe") as s ->
      fact ();
      let p = name () in
      (match Hashtbl.find_opt used p with
      | Some l -> bad (Printf.sprintf "expected the rows of which predicate %d is true before line %d, which uses it" p l)
      | None -> ());
      let k = name () in
      let c = cell () in
      let m = pred p in
      let ys = match PositiveMap.find k m with Some ys -> ys | None -> [] in
      Hashtbl.replace preds p (PositiveMap.add k ((s = "pred", c) :: ys) m)
  | "stamps" ->
      mark first_stamps;
      let t = about "stamps" !stamps in
      let s = number () in
      let c = number () in
      if c < s then mark first_early;
      stamps := PositiveMap.add t (s, c) !stamps
  | ("early" | "overlaps" | "conflicts" | "unexplained") as s when !by_stamps ->
      claims ();
      if !wrong <> None then bad "a second violation; expected one";
      let t = name () in
      wrong := Some (match s with "early" -> Early t | "unexplained" -> Unexplained t
        | "overlaps" -> Overlaps (t, name ()) | _ -> let u = name () in Conflicts (t, u, name ()))
  | "order" -> claims (); mark ordered; order := List.rev_append (rest ()) !order
  | "saw" ->
      claims ();
      mark first_saw;
      let t = about "saw" !saw in
      let rec sources l = if at_end () then List.rev l else sources (optional () :: l) in
      saw := PositiveMap.add t (sources []) !saw
  | s ->
      claims ();
      match s with
      | "cycle" | "source" | "total" | "initial" | "own" | "once" | "takes" | "rup" when is_weak () -> weak_step s
      | "cycle" -> step (Cycle (until_end just []))
      | "source" -> let t = name () in let k = name () in step (Source (t, k, rest ()))
      | "total" -> let t = name () in let u = name () in step (Total (t, u, name ()))
      | "once" ->
          let t = name () in let k = name () in let w = optional () in
          step (Once (t, k, w, optional ()))
      | "takes" -> let t = name () in step (Takes (atom (word ()), t))
      | "rup" -> step (rup ())
      | s -> bad (Printf.sprintf "%S; expected a statement, such as txn, r, w, order or cycle" s)

let rec lines () =
  if not (at_end ()) then begin
    statement (word ());
    begun := true;
    end_of_line ();
    lines ()
  end
  else if peek () = '\n' then (end_of_line (); lines ())

(* What the lines say together *)
let together () =
  let refuted = !steps <> [] || !weak_steps <> [] in
  let early = match !wrong with Some (Early _) -> true | _ -> false in
  let unneeded = match !wrong with None | Some (Unexplained _) -> false | _ -> true in
  if !level = None then bad "the file names no level";
  if !first_stamps > 0 && not !by_stamps then bad_at !first_stamps "the level uses no timestamps, but the file has stamps";
  if !first_early > 0 && not early then
    bad_at !first_early "a transaction commits before it starts; expected an early line that claims that";
  if !first_saw > 0 && not (is_weak ()) then bad_at !first_saw "the level uses no writers of reads, but the file has saw";
  if refuted && !by_stamps then bad "steps of a refutation; expected none at a level of timestamps";
  if refuted && !ordered > 0 then bad "an order and steps of a refutation; expected one of them";
  if refuted && !first_saw > 0 then bad "saw and steps of a refutation; expected one of them";
  if unneeded && !ordered > 0 then bad_at !ordered "an order and a violation that needs none; expected one of them";
  if !ordered = 0 && not refuted && !wrong = None then bad "the file has neither an order nor a refutation of the level"

(* At the snapshot levels the first place of a transaction in the order is its begin, the second its commit. *)
let events l =
  let begun = Hashtbl.create 1024 in
  List.rev
    (List.rev_map (fun t -> if Hashtbl.mem begun t then (true, t) else (Hashtbl.add begun t (); (false, t))) l)

let refused why = Printf.printf "NOT VERIFIED %s\n" why; exit 1
let () =
  Gc.set { (Gc.get ()) with minor_heap_size = 1 lsl 22; space_overhead = 150 };
  (match Sys.argv with
  | [| _; "-" |] -> ()
  | [| _; file |] -> ( try chan := open_in_bin file with Sys_error e -> prerr_endline e; exit 254)
  | _ -> prerr_endline "usage: isovet-kernel FILE"; exit 254);
  try
    while at_end () && peek () = '\n' do end_of_line () done;
    if word () <> "isovet-kernel" || word () <> "1" then bad "expected 'isovet-kernel 1'";
    end_of_line ();
    lines ();
    finish ();
    together ();
    let name = Option.get !level in
    let h = { init = !init; txns = List.rev !txns } in
    let answer, verdict, what =
      match (weak_of name, List.rev !order, !steps, !weak_steps) with
      | _, o, _, _ when !by_stamps -> (
          let l = level_of name in
          match !wrong with
          | Some w -> (check_stamps_violation !stamps l h o w, "violation", "step")
          | None ->
              let es = if l.serial then List.rev (List.rev_map (fun t -> (true, t)) o) else events o in
              (check_stamps !stamps l h es, "valid", "place"))
      | Some v, _, _, (_ :: _ as s) -> (check_weak_violation v h (List.rev s), "violation", "step")
      | Some v, o, _, _ -> (check_weak v h o !saw, "valid", "place")
      | None, _, (_ :: _ as s), _ -> (check_violation (level_of name) h (List.rev s), "violation", "step")
      | None, o, _, _ ->
          let l = level_of name in
          ((if l.serial then check_serial l h o else check_snapshot l h (events o)), "valid", "place")
    in
    let name = if !by_stamps then "ts:" ^ name else name in
    match answer with
    | Proved -> Printf.printf "VERIFIED %s %s\n" verdict name
    | Fails_at n ->
        let n = if verdict = "valid" then n + 1 else n in
        refused (Printf.sprintf "%s %s: %s %d" verdict name what n)
    | Fails_for t -> refused (Printf.sprintf "%s %s: transaction %d is missing or out of order" verdict name t)
    | Ill_formed -> refused (Printf.sprintf "%s %s: two transactions have the same number%s" verdict name
        (if !by_stamps then ", or one did not commit, or has no timestamps" else ""))
  with
  | Bad why | Sys_error why -> Printf.eprintf "%s\n" why; exit 254
  | Stack_overflow -> Printf.eprintf "too large for the stack\n"; exit 254
  | Out_of_memory -> Printf.eprintf "too large for memory\n"; exit 254
