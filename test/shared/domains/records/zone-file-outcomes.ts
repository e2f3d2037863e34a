import { readZoneFile } from "../../../../shared/domains/records/zone-file.ts";
import { zone } from "./records.ts";

/** Reads a zone file of these lines. */
export const read = (...lines: string[]) => readZoneFile(lines.join("\n"), zone);

/** The only record of a file. Returns all records and skipped entries if there is not exactly one entry. */
export function only(...lines: string[]) {
  const { records, skipped } = read(...lines);
  return skipped.length === 0 && records.length === 1 ? records[0]?.input : { records, skipped };
}

/** The result of each line: its record, or the reason why the line was skipped. */
export function outcomes(...lines: string[]) {
  const { records, skipped } = read(...lines);
  const all = [
    ...records.map(
      ({ line, input }) => [line, `${input.name} ${input.type} ${input.value} ${input.ttl ?? "-"}`] as const,
    ),
    ...skipped.map(({ line, reason }) => [line, reason] as const),
  ];
  return all.toSorted(([one], [other]) => one - other).map(([line, text]) => `${line}: ${text}`);
}
