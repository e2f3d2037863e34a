import { callAt, choicesAt } from "./playground-completion.js";
import { node } from "./playground-dom.js";
import { offsetOf, tokensOf } from "./playground-text.js";

/**
 * An editor over a plain text field, which keeps all that one has: undo, dictation, its keyboard on a phone. Its text is
 * painted beneath it. `known` is what is completed: `functions` by name, and the `shapes` of what they answer.
 */
export class Editor {
  constructor({ field, paint, list, hint }) {
    const known = { functions: new Map(), shapes: [] };
    Object.assign(this, { field, paint, list, hint, known, mistakes: [], choices: [], chosen: 0 });
    field.addEventListener("input", () => {
      this.mistakes = [];
      this.refresh();
      this.offer();
    });
    field.addEventListener("keydown", (event) => this.press(event));
    field.addEventListener("blur", () => this.close());
    field.addEventListener("click", () => this.close());
    document.addEventListener("selectionchange", () => document.activeElement === field && this.tellCall());
    // A press on a choice must not take the focus from the field.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const index = [...list.children].indexOf(event.target.closest("li"));
      if (index >= 0) this.take(index);
    });
  }

  get text() {
    return this.field.value;
  }

  /** Replaces the text as if it had been written, so that it can be undone. */
  set text(text) {
    this.field.focus();
    this.field.setSelectionRange(0, this.text.length);
    this.insert(text);
    this.mistakes = [];
    this.close();
    this.refresh();
  }

  /** Writes in place of what is selected. What replaces it, `setRangeText`, cannot be undone by the person who writes. */
  insert(text) {
    if (!document.execCommand("insertText", false, text)) this.field.setRangeText(text);
  }

  /** Marks where a program is wrong; the marks go with the next change. */
  mark(places) {
    this.mistakes = places.map((place) => offsetOf(this.text, place));
    this.refresh();
  }

  /** Puts the caret where a program is wrong. */
  goTo(place) {
    const at = offsetOf(this.text, place);
    this.field.focus();
    this.field.setSelectionRange(at, at);
    const marks = [...this.paint.querySelectorAll(".wrong")];
    marks.findLast((mark) => Number(mark.dataset["at"]) <= at)?.scrollIntoView({ block: "center" });
  }

  refresh() {
    this.paint.replaceChildren(...tokensOf(this.text).flatMap((token) => this.painted(token)), "\n");
    if (this.mistakes.some((at) => at >= this.text.length))
      this.paint.lastChild.before(this.wrong(this.text.length, " "));
    this.field.setAttribute("aria-invalid", String(this.mistakes.length > 0));
  }

  painted({ kind, text, at }) {
    const isWrong = this.mistakes.some((mistake) => at <= mistake && mistake < at + text.length);
    // Of the end of a line there is nothing to be seen.
    if (isWrong && text.startsWith("\n")) return [this.wrong(at, " "), text];
    const isFunction = kind === "word" && this.known.functions.has(text);
    const className = isFunction ? "function" : kind;
    if (isWrong) return [this.wrong(at, text, className)];
    return [className === "other" ? text : node("span", { className }, text)];
  }

  wrong(at, text, className = "other") {
    const mark = node("span", { className: `${className} wrong` }, text);
    mark.dataset["at"] = String(at);
    return mark;
  }

  offer(isAsked = false) {
    const { selectionStart, selectionEnd } = this.field;
    const found =
      selectionStart === selectionEnd ? choicesAt(this.text, selectionStart, this.known, isAsked) : undefined;
    if (!found || found.choices.length === 0) {
      this.close();
      return;
    }
    // Enter ends a line, unless somebody has begun to choose: what is written may be all there was to write.
    Object.assign(this, { ...found, takesEnter: false });
    this.list.replaceChildren(
      ...found.choices.map(({ label, detail }, index) => {
        const item = node("li");
        Object.assign(item, { id: `choice-${index}`, role: "option" });
        item.append(node("code", {}, label), " ", node("span", { className: "note" }, detail));
        return item;
      }),
    );
    this.list.hidden = false;
    this.placeList(found.start);
    this.choose(0);
  }

  placeList(offset) {
    const box = this.field.getBoundingClientRect();
    const caret = this.boxAt(offset);
    this.list.style.top = `${caret.bottom - box.top + 4}px`;
    this.list.style.left = `${Math.max(0, Math.min(caret.left - box.left, box.width - this.list.offsetWidth))}px`;
  }

  /** Where a character is on the screen: the painted text lies exactly beneath the field's. */
  boxAt(offset) {
    const walker = document.createTreeWalker(this.paint, NodeFilter.SHOW_TEXT);
    let left = offset;
    while (walker.nextNode()) {
      const { length } = walker.currentNode;
      if (left < length) {
        const range = document.createRange();
        range.setStart(walker.currentNode, left);
        range.setEnd(walker.currentNode, left + 1);
        return range.getBoundingClientRect();
      }
      left -= length;
    }
    return this.paint.getBoundingClientRect();
  }

  choose(index) {
    this.chosen = (index + this.choices.length) % this.choices.length;
    for (const [place, item] of [...this.list.children].entries()) {
      item.setAttribute("aria-selected", String(place === this.chosen));
      if (place === this.chosen) item.scrollIntoView({ block: "nearest" });
    }
    this.field.setAttribute("aria-activedescendant", `choice-${this.chosen}`);
    const { about } = this.choices[this.chosen];
    if (about) this.hint.textContent = about;
    else this.tellCall();
  }

  move(by) {
    this.takesEnter = true;
    this.choose(this.chosen + by);
  }

  take(index) {
    const { insert, back } = this.choices[index];
    this.field.focus();
    const isCalled = insert.endsWith("()") && this.text[this.field.selectionStart] === "(";
    this.field.setSelectionRange(this.start, this.end);
    const text = isCalled ? insert.slice(0, -2) : insert;
    this.insert(text);
    const caret = this.start + text.length - (isCalled ? 0 : back);
    this.field.setSelectionRange(caret, caret);
    this.refresh();
    this.close();
    if ((insert.endsWith("()") && back > 0) || insert.endsWith("=")) this.offer();
  }

  close() {
    this.list.hidden = true;
    this.list.replaceChildren();
    this.choices = [];
    this.field.removeAttribute("aria-activedescendant");
  }

  press(event) {
    const isOpen = this.choices.length > 0;
    if (event.ctrlKey && event.code === "Space") this.offer(true);
    else if (!isOpen || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    else if (event.key === "ArrowDown") this.move(1);
    else if (event.key === "ArrowUp") this.move(-1);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Tab" || (event.key === "Enter" && this.takesEnter)) && !event.shiftKey)
      this.take(this.chosen);
    else return;
    event.preventDefault();
  }

  /** Shows the parameters of the call that the caret is in. */
  tellCall() {
    const called = callAt(this.text, this.field.selectionStart, this.known);
    this.hint.replaceChildren();
    if (!called) return;
    const names = called.parameters.map(({ name, required }) =>
      node(required ? "b" : "span", {}, required ? name : `${name}?`),
    );
    this.hint.append(
      node("code", {}, called.name),
      "(",
      ...names.flatMap((name, index) => (index === 0 ? [name] : [", ", name])),
      `) · ${called.summary}`,
    );
  }
}
