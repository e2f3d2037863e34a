import { quoteCharacter } from "../core/text.ts";

/**
 * The characters of RFC 5892 §2: letters, digits and marks, and the exceptions of §2.6. Unstable characters need no
 * rule here, because UTS #46 maps them before the label is checked (`uLabelFault`).
 */
const allowed = /^[-a-z0-9\p{Ll}\p{Lu}\p{Lo}\p{Lm}\p{Nd}\p{Mn}\p{Mc}\u06fd\u06fe\u0f0b\u3007]$/u;

/** The letters and marks that are not allowed (RFC 5892 §2.3, 2.4, 2.6 and 2.9). */
const disallowed = new RegExp(
  String.raw`^[\u0640\u07fa\u1100-\u11ff\u20d0-\u20ff\u302e\u302f\u3031-\u3035\u303b\ua960-\ua97c\ud7b0-\ud7fb\u{1d100}-\u{1d24f}]$`,
  "u",
);
const invisible = /^\p{Default_Ignorable_Code_Point}$/u;

/** A context that a character needs. `rule` is a text for people, and `holds` tests the character at an index. */
type Context = { rule: string; holds: (label: readonly string[], index: number) => boolean };

const afterHebrew: Context = {
  rule: "after a Hebrew letter",
  holds: (label, index) => /^\p{Script=Hebrew}$/u.test(label[index - 1] ?? ""),
};

/**
 * The characters that are allowed only in a context (RFC 5892 appendix A). The joiners (A.1, A.2) are always accepted
 * here, because the converter of node:url in labels.ts checks them. `uLabelFault` checks the Arabic digits (A.8, A.9).
 */
const contexts: Record<string, Context> = {
  "\u00b7": { rule: "between two l", holds: (label, index) => label[index - 1] === "l" && label[index + 1] === "l" },
  "\u0375": {
    rule: "before a Greek letter",
    holds: (label, index) => /^\p{Script=Greek}$/u.test(label[index + 1] ?? ""),
  },
  "\u05f3": afterHebrew,
  "\u05f4": afterHebrew,
  "\u30fb": {
    rule: "with Japanese letters",
    holds: (label) => label.some((one) => /^[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]$/u.test(one)),
  },
  "\u200c": { rule: "in some scripts", holds: () => true },
  "\u200d": { rule: "in some scripts", holds: () => true },
};

export const notAllowed = (character: string): string =>
  `${quoteCharacter(character)} is not allowed in names. Use letters, digits and hyphens only (IDNA2008, RFC 5892)`;

function characterFault(label: readonly string[], index: number): string | undefined {
  const character = label[index] ?? "";
  const context = contexts[character];
  if (context)
    return context.holds(label, index) ? undefined : `${quoteCharacter(character)} is only allowed ${context.rule}`;
  if (character === "_") return "A label with an underscore cannot have letters other than a to z";
  if (allowed.test(character) && !disallowed.test(character) && !invisible.test(character)) return undefined;
  return notAllowed(character);
}

/**
 * Explains why IDNA2008 forbids a Unicode label (RFC 5891 §4.2, RFC 5892); undefined if the label is valid. UTS #46
 * must have mapped the label before, and must have found it valid.
 */
export function uLabelFault(label: string): string | undefined {
  const characters = Array.from(label);
  if (characters.slice(2, 4).join("") === "--") {
    return "A label with letters other than a to z cannot have hyphens in positions 3 and 4";
  }
  if (label.startsWith("-") || label.endsWith("-")) return "A label cannot begin or end with a hyphen";
  if (/[\u0660-\u0669]/.test(label) && /[\u06f0-\u06f9]/.test(label)) {
    return "A label cannot mix Arabic-Indic and Extended Arabic-Indic digits";
  }
  for (const index of characters.keys()) {
    const fault = characterFault(characters, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
