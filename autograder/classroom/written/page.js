// Grading one question, with the keyboard alone. The server decides; this page shows what it said and what is not saved.
"use strict";

const $ = (id) => document.getElementById(id);
const { question: questionAddress, answer: answerAddress } = document.body.dataset;
const COMMENT_KEYS = "qwertyuiop";
const placeKey = `written:${questionAddress}`;

let question = null;   // points, items, comments
let answers = [];      // id, waiting, score: in the order of this question
let place = -1;        // of the answer that is shown
let seen = null;       // what the gradebook had when it was loaded
let marks = null;      // what the grader says about it
let changed = false;   // not saved yet
let conflict = null;   // what the gradebook has instead
let busy = false;      // one move at a time

// ---- the server

async function ask(address, method = "GET", body = undefined) {
  const token = (document.cookie.match(/(?:^|; )_xsrf=([^;]*)/) || [])[1] || "";
  const options = { method, headers: { "X-XSRFToken": token, "Content-Type": "application/json" } };
  const answer = await fetch(address, body === undefined ? options : { ...options, body: JSON.stringify(body) });
  if (!answer.ok && answer.status !== 409) throw new Error(`the server answered ${answer.status}`);
  return { conflict: answer.status === 409, data: await answer.json() };
}

async function load(number) {
  const { data } = await ask(`${answerAddress}/${answers[number].id}`);
  place = number;
  take(data);
  $("answer").innerHTML = data.html;  // cleaned by the server
  $("answer-side").scrollTop = 0;
  localStorage.setItem(placeKey, answers[place].id);
  say("");
  show();
}

function take(data) {
  ({ seen, answers } = data);
  marks = { ...data.marks, items: new Set(data.marks.items) };
  changed = false;
  conflict = null;
}

async function save() {
  if (!changed) return true;
  if (conflict) return false;
  say("saving …");
  const body = { marks: { ...marks, items: [...marks.items] }, seen };
  let result;
  try {
    result = await ask(`${answerAddress}/${answers[place].id}`, "PUT", body);
  } catch (error) {
    say(`NOT SAVED: ${error.message}. Is the server running? Try again with S.`);
    return false;
  }
  if (result.conflict) {
    conflict = result.data;
    say("NOT SAVED");
    show();
    return false;
  }
  const used = marks.comment.split("\n").map((line) => line.trim()).filter(Boolean);
  question.comments.push(...used.filter((line) => !question.comments.includes(line)));
  take(result.data);
  say("saved ✓");
  show();
  return true;
}

// ---- moving

async function move(find) {
  if (busy) return;
  busy = true;
  try {
    if (!(await save())) return;
    const done = $("state").textContent;
    const number = find();
    if (number === null) return say(`${done} ${waitingCount() ? "no other waits" : "nothing waits any more"}`);
    await load(number);
    say(done);
    $("answer-title").focus();
  } catch (error) {
    say(`${error.message}: try again`);
  } finally {
    busy = false;
  }
}

const waitingCount = () => answers.filter((one) => one.waiting).length;
const next = () => Math.min(place + 1, answers.length - 1);
const previous = () => Math.max(place - 1, 0);

function nextWaiting(from = place + 1) {
  for (let step = 0; step < answers.length; step++) {
    const number = (from + step) % answers.length;
    if (answers[number].waiting && number !== place) return number;
  }
  return null;
}

// ---- judging

const sameAnswer = () => conflict.seen.answer === seen.answer;  // else the grader has not read what is there now

function judge(change) {
  if (conflict) return;
  change();
  changed = true;
  say("not saved yet");
  show();
}

const grade = (change) => judge(() => { change(); marks.graded = true; });
const toggle = (set, value) => (set.has(value) ? set.delete(value) : set.add(value));
const positive = () => question.items.flatMap((item, number) => (item.points > 0 ? [number] : []));

const actions = {
  all: () => grade(() => { marks.items = new Set(positive()); marks.adjustment = question.items.length ? 0 : question.points; }),
  none: () => grade(() => { marks.items = new Set(); marks.adjustment = 0; }),
  less: () => grade(() => { marks.adjustment = Math.max(marks.adjustment - 0.5, -question.points); }),
  more: () => grade(() => { marks.adjustment = Math.min(marks.adjustment + 0.5, question.points); }),
  clear: () => judge(() => { marks.graded = false; marks.items = new Set(); marks.adjustment = 0; }),
  previous: () => move(previous),
  next: () => move(next),
  "next-waiting": () => move(nextWaiting),
  last: () => move(() => answers.length - 1),
  save: () => save(),
  take: () => load(place),
  overwrite: () => { if (conflict && sameAnswer()) { seen = conflict.seen; conflict = null; save(); } },
};

function item(number) {
  if (number < question.items.length) grade(() => toggle(marks.items, number));
}

function savedComment(number) {
  const line = question.comments[number];
  if (line === undefined) return;
  judge(() => {
    const lines = marks.comment.split("\n").filter((one) => one.trim());
    marks.comment = (lines.includes(line) ? lines.filter((one) => one !== line) : [...lines, line]).join("\n");
  });
}

function score() {
  if (!marks.graded) return null;
  const earned = [...marks.items].reduce((sum, number) => sum + (question.items[number]?.points ?? 0), marks.adjustment);
  return Math.min(Math.max(earned, 0), question.points);
}

// ---- showing

const say = (text) => { $("state").textContent = text; };
const points = (value) => (value === null ? "not graded" : `${value} of ${question.points}`);

function show() {
  const adjusted = marks.graded && marks.adjustment && question.items.length ? ` (${marks.adjustment > 0 ? "+" : ""}${marks.adjustment})` : "";
  $("score").textContent = points(score()) + adjusted;
  $("place").textContent = `answer ${place + 1} of ${answers.length}`;
  const blank = question.blank ? `, ${question.blank} left blank` : "";
  $("waiting").textContent = `${waitingCount()} wait, ${answers.length - waitingCount()} graded${blank}`;
  [...$("items").querySelectorAll("button")].forEach((one, number) => one.setAttribute("aria-pressed", marks.items.has(number)));
  if ($("comment").value !== marks.comment) $("comment").value = marks.comment;
  showComments();
  $("conflict").hidden = !conflict;
  if (conflict) {
    $("theirs").textContent = points(conflict.seen.score) + (sameAnswer() ? "" : ", for another answer");
    $("overwrite").hidden = !sameAnswer();
    $("mine").textContent = points(score());
  }
}

function showComments() {
  const used = new Set(marks.comment.split("\n"));
  $("saved-comments").replaceChildren(...question.comments.slice(0, COMMENT_KEYS.length).map((line, number) => {
    const button = choice(COMMENT_KEYS[number].toUpperCase(), "", () => savedComment(number));
    button.append(line);
    button.setAttribute("aria-pressed", used.has(line));
    const entry = document.createElement("li");
    entry.append(button);
    return entry;
  }));
}

function choice(key, html, press) {
  const button = document.createElement("button");
  button.innerHTML = `<kbd>${key}</kbd>${html}`;
  button.addEventListener("click", press);
  return button;
}

function showQuestion() {
  $("name").textContent = document.title = question.name;
  $("text").innerHTML = question.text;
  $("model").innerHTML = question.model_answer;
  $("remarks").innerHTML = question.remarks;
  question.items.forEach((one, number) => {
    const button = choice(number + 1, `<span class="points">${one.points}</span><span>${one.text}</span>`, () => item(number));
    const entry = document.createElement("li");
    entry.append(button);
    $("items").append(entry);
  });
}

// ---- keys

const KEYS = {
  a: "all", 0: "none", "-": "less", "+": "more", "=": "more", Delete: "clear", Backspace: "clear",
  ArrowLeft: "previous", k: "previous", ArrowRight: "next", j: "next", n: "next-waiting", Enter: "next-waiting",
  End: "last", s: "save",
};

function press(event) {
  if (!marks || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target === $("comment")) {
    if (event.key === "Escape") $("answer-title").focus();
    return;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const onButton = ["BUTTON", "A", "SUMMARY"].includes(event.target.tagName) && key === "Enter";
  if (onButton) return;  // which it presses
  if (conflict) {
    if (key === "g") actions.take();
    else if (key === "m") actions.overwrite();
    else return;
  } else if (/^[1-9]$/.test(key)) item(Number(key) - 1);
  else if (key === "c") $("comment").focus();
  else if (KEYS[key]) actions[KEYS[key]]();
  else if (COMMENT_KEYS.includes(key)) savedComment(COMMENT_KEYS.indexOf(key));
  else return;
  event.preventDefault();
}

async function start() {
  ({ data: question } = await ask(questionAddress));
  answers = question.answers;
  showQuestion();
  if (!answers.length) return say("nobody's answer has to be graded here");
  const before = Math.max(answers.findIndex((one) => one.id === localStorage.getItem(placeKey)), 0);
  await load(nextWaiting(before) ?? before);
}

document.addEventListener("keydown", press);
$("comment").addEventListener("input", () => judge(() => { marks.comment = $("comment").value; }));
Object.entries(actions).forEach(([id, action]) => $(id).addEventListener("click", action));
window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
start().catch((error) => say(`${error.message}: load the page again`));
