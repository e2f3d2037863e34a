import { EditorView } from "@codemirror/view";

/** The editor in the colors of the page, which are light or dark: `base.css` and `playground.css` declare them. */
export const theme = EditorView.theme({
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
  "@media (max-width: 40rem)": { "&": { fontSize: "16px" } },
});
