import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionStatus,
  moveCompletionSelection,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { EditorState, StateEffect, StateField, type Extension } from "@codemirror/state";
import { EditorView, keymap, type Command } from "@codemirror/view";

import { complete, functionAt } from "./completion.ts";
import { diagnostics, offsetOf, showDiagnostics, type Position } from "./diagnostics.ts";
import { codeMode } from "./language.ts";
import type { FunctionEntry, ValueShapes } from "./value-shapes.ts";

/** The look of the editor. It uses the page's light or dark colors, which `base.css` and `playground.css` declare. */
const theme = EditorView.theme({
  "&": { fontSize: "0.95rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--monospace)", lineHeight: "1.6" },
  ".cm-content": { minHeight: "11rem", padding: "0.75rem 0", caretColor: "var(--ink)", fontVariantLigatures: "none" },
  ".cm-line": { padding: "0 1rem" },
  ".cm-line ::selection, .cm-line::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--accent) 20%, transparent)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent" },
  ".cm-wrong": {
    borderRadius: "2px",
    backgroundColor: "var(--bad-soft)",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": {
    border: "1px solid var(--line)",
    borderRadius: "6px",
    backgroundColor: "var(--paper)",
    boxShadow: "0 6px 24px rgb(0 0 0 / 25%)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    maxWidth: "min(34rem, calc(100vw - 2.5rem))",
    maxHeight: "14rem",
    padding: "0.25rem",
    fontFamily: "var(--monospace)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    padding: "0.3rem 0.5rem",
    borderRadius: "4px",
    whiteSpace: "normal",
    overflowWrap: "anywhere",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "color-mix(in srgb, var(--accent) 20%, transparent)",
    color: "inherit",
    outline: "2px solid var(--accent)",
    outlineOffset: "-2px",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-completionDetail": {
    marginLeft: "0.25rem",
    color: "var(--soft)",
    fontFamily: "system-ui, sans-serif",
    fontSize: "0.875rem",
    fontStyle: "normal",
  },
  ".cm-tooltip.cm-completionInfo": { padding: "0.4rem 0.6rem", maxWidth: "20rem", fontSize: "0.875rem" },
  "@media (max-width: 40rem)": { "&": { fontSize: "1rem" } },
});

type EditorOptions = {
  /** The element that becomes the editor. */
  host: Element;
  text: string;
  /** The functions and shapes for completion. Nothing is completed before they are loaded. */
  shapes: Promise<ValueShapes>;
  /**
   * Called with a function when the caret moves into its arguments, and with undefined when the caret leaves all
   * arguments.
   */
  onFunction: (called: FunctionEntry | undefined) => void;
};

/** Says that the user has moved through the list of completions with an arrow key. */
const startChoosing = StateEffect.define();

/** Whether the user has moved through the open list of completions with an arrow key. */
const isChoosing = StateField.define<boolean>({
  create: () => false,
  update: (value, { docChanged, effects, state }) =>
    effects.some((effect) => effect.is(startChoosing)) ||
    (value && !docChanged && completionStatus(state) === "active"),
});

const move = (forward: boolean): Command => {
  const moveSelection = moveCompletionSelection(forward);
  return (view) => {
    if (!moveSelection(view)) return false;
    view.dispatch({ effects: startChoosing.of(null) });
    return true;
  };
};

// Enter accepts a completion only if the user chose it with an arrow key. In other cases Enter ends the line, because
// the word may be complete already.
const completionKeys = keymap.of([
  { key: "Ctrl-Space", run: startCompletion },
  { key: "Escape", run: closeCompletion },
  { key: "ArrowDown", run: move(true) },
  { key: "ArrowUp", run: move(false) },
  { key: "Tab", run: acceptCompletion },
  { key: "Enter", run: (view) => view.state.field(isChoosing) && acceptCompletion(view) },
]);

/** Calls `onFunction` when the function at the caret changes. */
function functionListener({ shapes, onFunction }: EditorOptions): Extension {
  let known: ValueShapes | undefined;
  let current: FunctionEntry | undefined;
  void shapes.then((loaded) => (known = loaded));
  return EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
    if (!known || !(docChanged || selectionSet)) return;
    const called = functionAt(state, state.selection.main.head, known);
    if (called === current) return;
    current = called;
    onFunction(called);
  });
}

/** An editor for programs: CodeMirror with code mode's language and completions. */
export class Editor {
  readonly #view: EditorView;

  constructor(options: EditorOptions) {
    // In a shadow root, CodeMirror adds its styles as a constructed style sheet. The content security policy allows
    // such a style sheet.
    const root = options.host.attachShadow({ mode: "open" });
    const completions = autocompletion({
      defaultKeymap: false,
      icons: false,
      interactionDelay: 0,
      // Equally good matches keep the order of the signature. They are not sorted by name.
      compareCompletions: () => 0,
      // Screen readers read the label and the detail of a completion as one name. A space separates the two.
      addToOptions: [{ render: () => document.createTextNode(" "), position: 60 }],
      override: [async (context) => complete(context, await options.shapes)],
    });
    const extensions = [
      history(),
      completionKeys,
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({
        "aria-label": "Program",
        "aria-description": "Press Control and Space for completions. Press Escape and then Tab to leave the editor.",
      }),
      bracketMatching(),
      codeMode,
      completions,
      isChoosing,
      diagnostics,
      functionListener(options),
      theme,
    ];
    const state = EditorState.create({ doc: options.text, extensions });
    this.#view = new EditorView({ state, root, parent: root });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Replaces the text. The user can undo the change. */
  replace(text: string): void {
    const { doc } = this.#view.state;
    this.#view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, selection: { anchor: text.length } });
  }

  closeCompletions(): void {
    closeCompletion(this.#view);
  }

  /** Underlines positions until the next change. */
  underline(positions: Position[]): void {
    this.#view.dispatch({ effects: showDiagnostics(positions) });
  }

  /** Puts the caret at a position, and scrolls there. */
  goTo(position: Position): void {
    const anchor = offsetOf(this.#view.state.doc, position);
    this.#view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.#view.focus();
  }
}
