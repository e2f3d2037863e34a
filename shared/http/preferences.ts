/** One element of a field in which a client says what it prefers, with its weight: 0 is what it does not take. */
export type Preference = { value: string; weight: number };

const weightOf = (parameters: readonly string[]): number => {
  const weight = parameters
    .map((text) => /^\s*q\s*=(.*)$/is.exec(text)?.[1]?.trim())
    .find((text) => text !== undefined);
  if (weight === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0;
};

/** The elements of `Accept` or `Accept-Encoding` with their weights (RFC 9110 §12.4.2), in lower case; one with a weight that is none counts as refused. */
export const preferencesIn = (field: string): Preference[] =>
  field.split(",").flatMap((element) => {
    const [value = "", ...parameters] = element.split(";");
    const name = value.trim().toLowerCase();
    return name === "" ? [] : [{ value: name, weight: weightOf(parameters) }];
  });

/** The weight that an `Accept` gives a media type, by the most specific range that has it (RFC 9110 §12.5.1); 1 without one. */
export function weightOfType(accept: string, type: string): number {
  const preferences = preferencesIn(accept);
  return preferences.length === 0 ? 1 : (weightFor(preferences, [type, `${type.split("/")[0]}/*`, "*/*"]) ?? 0);
}

/** The weight of the first of these names that a field lists; undefined where it lists none of them. */
export const weightFor = (preferences: readonly Preference[], names: readonly string[]): number | undefined =>
  names.map((name) => preferences.find(({ value }) => value === name)?.weight).find((weight) => weight !== undefined);
