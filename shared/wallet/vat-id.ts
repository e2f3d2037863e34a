/*
 * VAT identification numbers, by the form and the check digit that each country publishes. The forms of the EU are in
 * the FAQ of VIES (European Commission). The check digits are those of the national tax authorities. Bulgaria, Czechia,
 * Latvia and Spain have several kinds of numbers with rules of their own. For these countries only the form is checked.
 */

const digitsOf = (text: string): number[] => Array.from(text, Number);

/** The sum of digits, each multiplied by the weight at its place. */
const weighted = (digits: string, weights: readonly number[]): number =>
  digitsOf(digits).reduce((sum, digit, place) => sum + digit * (weights[place] ?? 0), 0);

/**
 * Luhn's sum: multiplies the digits by 1 and 2 in turn, the first digit by `first`, and adds the digits of all
 * products.
 */
const luhn = (digits: string, first: 1 | 2): number =>
  digitsOf(digits).reduce((sum, digit, place) => {
    const product = digit * (place % 2 === 0 ? first : 3 - first);
    return sum + Math.trunc(product / 10) + (product % 10);
  }, 0);

/** The remainder of a whole number of any length. */
const restOf = (digits: string, divisor: number): number => Number(BigInt(digits) % BigInt(divisor));

/** The last digit of a number. */
const last = (text: string): number => Number(text.at(-1));

/** The digit that makes a sum a multiple of ten. */
const toTen = (sum: number): number => (10 - (sum % 10)) % 10;

/** Whether the check digit of ISO 7064 (mod 11, 10) is right. */
function isMod1110(digits: string): boolean {
  let product = 10;
  for (const digit of digitsOf(digits.slice(0, -1))) {
    const sum = (digit + product) % 10 || 10;
    product = (2 * sum) % 11;
  }
  return (11 - product) % 10 === last(digits);
}

/** The values of the digits at the first, third, fifth and seventh place of a Cypriot number. */
const cyprusOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];

/** The check letter of a Cypriot number. */
const cyprusLetter = (digits: string): string => {
  const sum = digitsOf(digits).reduce(
    (total, digit, at) => total + (at % 2 === 0 ? (cyprusOdd[digit] ?? 0) : digit),
    0,
  );
  return String.fromCodePoint(65 + (sum % 26));
};

/** The check letters of Irish numbers, by the remainder of the sum after division by 23. */
const irishLetters = "WABCDEFGHIJKLMNOPQRSTUV";

function isIrish(text: string): boolean {
  const [, digits = "", letter = "", second = ""] = /^(\d{7})([A-W])([A-IW]?)$/.exec(text) ?? [];
  // The older form has a letter, `*` or `+` in the second place. Its check letter is not checked, because the holders
  // replace these numbers by numbers of the newer form.
  if (digits === "") return true;
  // A second letter adds 9 times its place in the alphabet. W adds 0.
  const extra = second === "" || second === "W" ? 0 : 9 * ((second.codePointAt(0) ?? 64) - 64);
  return irishLetters.charAt((weighted(digits, [8, 7, 6, 5, 4, 3, 2]) + extra) % 23) === letter;
}

/** Whether the check digit is right. If the remainder is 10, the weights begin at 3 instead of 1. */
function isLithuanian(digits: string): boolean {
  const places = digitsOf(digits.slice(0, -1));
  const rest = (start: number): number =>
    places.reduce((sum, digit, place) => sum + digit * (((place + start) % 9) + 1), 0) % 11;
  return (rest(0) === 10 ? rest(2) % 10 : rest(0)) === last(digits);
}

/**
 * Whether a Dutch number has one of its two kinds of check digits: mod 11, or, for sole traders since 2020, mod 97 (ISO
 * 7064).
 */
function isDutch(text: string): boolean {
  if (weighted(text.slice(0, 8), [9, 8, 7, 6, 5, 4, 3, 2]) % 11 === Number(text.charAt(8))) return true;
  const numbers = Array.from(`NL${text}`, (character) =>
    /\d/.test(character) ? character : String(character.charCodeAt(0) - 55),
  );
  return restOf(numbers.join(""), 97) === 1;
}

/** Whether the check digits are right. Numbers of government departments and health authorities (GD, HA) have none. */
const isBritish = (digits: string): boolean => {
  if (!/^\d{9}(\d{3})?$/.test(digits)) return true;
  const sum = weighted(digits.slice(0, 7), [8, 7, 6, 5, 4, 3, 2]) + Number(digits.slice(7, 9));
  return sum % 97 === 0 || (sum + 55) % 97 === 0;
};

type NumberRule = { form: RegExp; example: string; isRight?: (text: string) => boolean };

const british: NumberRule = {
  form: /^(\d{9}|\d{12}|GD[0-4]\d\d|HA[5-9]\d\d)$/,
  example: "GB123456782",
  isRight: isBritish,
};

/** The rules by the prefix of a number. `form` and `isRight` look at the text after the prefix. */
const numberRules: Record<string, NumberRule> = {
  AT: {
    form: /^U\d{8}$/,
    example: "ATU12345675",
    isRight: (text) => toTen(luhn(text.slice(1, 8), 1) + 4) === last(text),
  },
  BE: {
    form: /^[01]\d{9}$/,
    example: "BE0123456749",
    isRight: (text) => 97 - restOf(text.slice(0, 8), 97) === Number(text.slice(8)),
  },
  BG: { form: /^\d{9,10}$/, example: "BG123456789" },
  CY: {
    form: /^\d{8}[A-Z]$/,
    example: "CY10259033P",
    isRight: (text) => cyprusLetter(text.slice(0, 8)) === text.charAt(8),
  },
  CZ: { form: /^\d{8,10}$/, example: "CZ12345678" },
  DE: { form: /^[1-9]\d{8}$/, example: "DE123456788", isRight: isMod1110 },
  DK: {
    form: /^\d{8}$/,
    example: "DK13585628",
    isRight: (text) => weighted(text, [2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0,
  },
  EE: {
    form: /^\d{9}$/,
    example: "EE100594102",
    isRight: (text) => toTen(weighted(text.slice(0, 8), [3, 7, 1, 3, 7, 1, 3, 7])) === last(text),
  },
  EL: {
    form: /^\d{9}$/,
    example: "EL094259216",
    isRight: (text) => (weighted(text.slice(0, 8), [256, 128, 64, 32, 16, 8, 4, 2]) % 11) % 10 === last(text),
  },
  ES: { form: /^([A-Z]\d{7}[A-Z\d]|\d{8}[A-Z])$/, example: "ESA12345674" },
  FI: {
    form: /^\d{8}$/,
    example: "FI20774740",
    isRight: (text) => weighted(text, [7, 9, 10, 5, 8, 4, 2, 1]) % 11 === 0,
  },
  FR: {
    form: /^[A-HJ-NP-Z\d]{2}\d{9}$/,
    example: "FR40303265045",
    // The first two characters are the key. A key with a letter has no published rule, so it is not checked.
    isRight: (text) => !/^\d{2}/.test(text) || restOf(`${text.slice(2)}12`, 97) === Number(text.slice(0, 2)),
  },
  GB: british,
  HR: { form: /^\d{11}$/, example: "HR33392005961", isRight: isMod1110 },
  HU: {
    form: /^\d{8}$/,
    example: "HU12892312",
    isRight: (text) => toTen(weighted(text.slice(0, 7), [9, 7, 3, 1, 9, 7, 3])) === last(text),
  },
  IE: { form: /^(\d{7}[A-W][A-IW]?|[7-9][A-Z*+]\d{5}[A-W])$/, example: "IE6433435F", isRight: isIrish },
  IT: {
    form: /^\d{11}$/,
    example: "IT00743110157",
    isRight: (text) => toTen(luhn(text.slice(0, 10), 1)) === last(text),
  },
  LT: { form: /^(\d{9}|\d{12})$/, example: "LT119511515", isRight: isLithuanian },
  LU: {
    form: /^\d{8}$/,
    example: "LU15027442",
    isRight: (text) => restOf(text.slice(0, 6), 89) === Number(text.slice(6)),
  },
  LV: { form: /^\d{11}$/, example: "LV40003521600" },
  MT: {
    form: /^[1-9]\d{7}$/,
    example: "MT11679112",
    isRight: (text) => 37 - (weighted(text.slice(0, 6), [3, 4, 6, 7, 8, 9]) % 37) === Number(text.slice(6)),
  },
  NL: { form: /^\d{9}B\d{2}$/, example: "NL004495445B01", isRight: isDutch },
  PL: {
    form: /^\d{10}$/,
    example: "PL8567346215",
    isRight: (text) => weighted(text.slice(0, 9), [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === last(text),
  },
  PT: {
    form: /^[1-9]\d{8}$/,
    example: "PT501964843",
    isRight: (text) => ((11 - (weighted(text.slice(0, 8), [9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11) % 10 === last(text),
  },
  RO: {
    form: /^[1-9]\d{1,9}$/,
    example: "RO18547290",
    isRight: (text) =>
      ((10 * weighted(text.slice(0, -1).padStart(9, "0"), [7, 5, 3, 2, 1, 7, 5, 3, 2])) % 11) % 10 === last(text),
  },
  SE: { form: /^\d{10}01$/, example: "SE556188840401", isRight: (text) => luhn(text.slice(0, 10), 2) % 10 === 0 },
  SI: {
    form: /^[1-9]\d{7}$/,
    example: "SI50223054",
    isRight: (text) =>
      (11 - (weighted(text.slice(0, 7), [8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === last(text) &&
      weighted(text.slice(0, 7), [8, 7, 6, 5, 4, 3, 2]) % 11 !== 0,
  },
  SK: { form: /^[1-9]\d{9}$/, example: "SK2022749619", isRight: (text) => restOf(text, 11) === 0 },
  XI: { ...british, example: "XI123456782" },
};

/** The prefixes that a country's numbers can have, for countries where the prefix is not always the country's code. */
const prefixes: Record<string, readonly string[]> = { GR: ["EL"], GB: ["GB", "XI"], IM: ["GB"], MC: ["FR"] };

const prefixesOf = (country: string): readonly string[] => prefixes[country] ?? [country];

/** A VAT id in its normal form: with capital letters, and without spaces, points and hyphens. */
export const normalVatId = (given: string): string => given.toUpperCase().replaceAll(/[\s.-]/g, "");

/**
 * The reason why a normal VAT id is not valid in a country, as a sentence without its period; undefined if its form and
 * its check digit are right. For countries without a rule here, only the prefix and the length are checked.
 */
export function vatIdFault(vatId: string, country: string): string | undefined {
  const known = prefixesOf(country);
  const prefix = vatId.slice(0, 2);
  if (!known.includes(prefix)) {
    return `A VAT id of ${country} begins with ${known.join(" or ")}. Write the id of the profile's country`;
  }
  const rule = numberRules[prefix];
  const text = vatId.slice(2);
  if (rule === undefined) {
    return /^[A-Z\d]{2,18}$/.test(text) ? undefined : "Write the country code and 2 to 18 letters or digits";
  }
  if (!rule.form.test(text)) return `This is not the form of a VAT id of ${country}, such as ${rule.example}`;
  if (rule.isRight && !rule.isRight(text)) return "The check digit of this VAT id is wrong. Is there a typing mistake?";
  return undefined;
}
