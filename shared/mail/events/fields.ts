/** Fields by their names in lower case. A field may occur more than once. */
export type Fields = ReadonlyMap<string, readonly string[]>;

const mostFields = 5_000;
const longestValue = 10_000;

/**
 * Reads groups of header fields with blank lines between them: the form of a delivery status (RFC 3464 §2.1) and of a
 * feedback report (RFC 5965 §3). A line that begins with white space continues the field before it (RFC 5322 §2.2.3).
 * Leaves out lines that are no fields, everything after 5,000 fields, and the continuation of a value of more than
 * 10,000 characters.
 */
export function readFieldGroups(text: string): Fields[] {
  const groups: Map<string, string[]>[] = [];
  let group: Map<string, string[]> | undefined;
  let values: string[] | undefined;
  let count = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const last = values?.at(-1);
    const [, name, value = ""] = /^([\x21-\x39\x3b-\x7e]+)[ \t]*:(.*)$/.exec(line) ?? [];
    if (line.trim() === "") {
      group = undefined;
      values = undefined;
    } else if (/^[ \t]/.test(line)) {
      if (values && last !== undefined && last.length <= longestValue)
        values[values.length - 1] = `${last} ${line.trim()}`.trim();
    } else if (name === undefined) {
      values = undefined;
    } else {
      if (++count > mostFields) return groups;
      if (!group) groups.push((group = new Map()));
      values = group.get(name.toLowerCase()) ?? [];
      values.push(value.trim());
      group.set(name.toLowerCase(), values);
    }
  }
  return groups;
}
