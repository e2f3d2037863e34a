type Style = {
  /** The text of a value that is neither a list nor an object. */
  atom: (value: unknown) => string;
  key: (name: string) => string;
  /** Whether an object on one line has spaces inside its braces. */
  spaced: boolean;
};

const pythonWords = new Map<unknown, string>([
  [null, "None"],
  [true, "True"],
  [false, "False"],
]);

/** The literals of each language. Code mode has the literals of Python. */
export const styles = {
  json: { atom: (value) => JSON.stringify(value), key: (name) => JSON.stringify(name), spaced: false },
  python: {
    atom: (value) => pythonWords.get(value) ?? JSON.stringify(value),
    key: (name) => JSON.stringify(name),
    spaced: false,
  },
  typescript: {
    atom: (value) => JSON.stringify(value),
    key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)),
    spaced: true,
  },
} as const satisfies Record<string, Style>;

const longestLine = 80;

type Layout = {
  /** The indentation of the line with the opening text. */
  indent?: string;
  /** The number of characters before the opening text on its line. */
  column?: number;
  /** The further indentation of the parts, if each part has a line of its own. */
  step?: string;
  /** The space inside the opening and the closing text, if all parts are on one line. */
  space?: string;
};

/**
 * Joins parts between an opening and a closing text. Writes all parts on one line if they fit there after `column`
 * characters. If not, writes one part per line, indented by `indent` and `step`.
 */
export function bracket(
  [open, close]: readonly [string, string],
  parts: readonly ((indent: string) => string)[],
  { indent = "", column = indent.length, step = "  ", space = "" }: Layout = {},
): string {
  if (parts.length === 0) return `${open}${close}`;
  const line = `${open}${space}${parts.map((part) => part(indent)).join(", ")}${space}${close}`;
  if (!line.includes("\n") && column + line.length <= longestLine) return line;
  const inner = indent + step;
  return `${open}\n${parts.map((part) => `${inner}${part(inner)},\n`).join("")}${indent}${close}`;
}

/**
 * Writes a value as a literal of a language. Writes the literal on one line if it fits there after `column` characters.
 */
export function literal(value: unknown, style: Style, indent = "", column = indent.length): string {
  const step = style === styles.python ? "    " : "  ";
  if (Array.isArray(value)) {
    const items = value.map((item) => (at: string) => literal(item, style, at));
    return withoutTrailingComma(bracket(["[", "]"], items, { indent, column, step }), style);
  }
  if (typeof value !== "object" || value === null) return style.atom(value);
  const members = Object.entries(value).map(([name, member]) => (at: string) => {
    const key = `${style.key(name)}: `;
    return key + literal(member, style, at, at.length + key.length);
  });
  const space = style.spaced ? " " : "";
  return withoutTrailingComma(bracket(["{", "}"], members, { indent, column, step, space }), style);
}

/** JSON has no comma after the last member. */
const withoutTrailingComma = (text: string, style: Style): string =>
  style === styles.json ? text.replace(/,(\n *[\]}])$/, "$1") : text;
