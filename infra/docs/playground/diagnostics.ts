import { syntaxTree } from "@codemirror/language";
import { StateEffect, StateField, type EditorState, type Extension, type Range, type Text } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";

/** A position in a program. Lines and columns count from 1. A column is a character, not a unit of UTF-16. */
export type Position = { line: number; column: number };

/** The offset of a position. If the text does not have this position, the offset of the nearest position. */
export function offsetOf(doc: Text, { line, column }: Position): number {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return (
    from +
    Array.from(text)
      .slice(0, column - 1)
      .join("").length
  );
}

/** The mark at the end of a line, where there is no character to underline. */
class EndMark extends WidgetType {
  override eq(): boolean {
    return true;
  }

  toDOM(): HTMLElement {
    return Object.assign(document.createElement("span"), { className: "cm-wrong", textContent: " " });
  }
}

/** Underlines the token at an offset. If a function's name begins there, underlines the whole name. */
function markAt(state: EditorState, offset: number): Range<Decoration> {
  if (offset === state.doc.lineAt(offset).to)
    return Decoration.widget({ widget: new EndMark(), side: 1 }).range(offset);
  let node = syntaxTree(state).resolveInner(offset, 1);
  while (node.parent?.name === "Member" && node.parent.from === offset) node = node.parent;
  const isToken = node.from === offset && (node.firstChild === null || node.name === "Member");
  return Decoration.mark({ class: "cm-wrong" }).range(offset, isToken ? node.to : offset + 1);
}

const setPositions = StateEffect.define<Position[]>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, { docChanged, effects, state }) {
    for (const effect of effects) {
      if (!effect.is(setPositions)) continue;
      const offsets = new Set(effect.value.map((position) => offsetOf(state.doc, position)));
      return Decoration.set(
        [...offsets].map((offset) => markAt(state, offset)),
        true,
      );
    }
    return docChanged ? Decoration.none : shown;
  },
  provide: (field) => [
    EditorView.decorations.from(field),
    EditorView.contentAttributes.from(field, ({ size }) => ({ "aria-invalid": String(size > 0) })),
  ],
});

/** Underlines the mistakes of a program until the program changes. */
export const diagnostics: Extension = marks;

/** Replaces the underlined positions. */
export const showDiagnostics = (positions: Position[]): StateEffect<Position[]> => setPositions.of(positions);
