import fc from "fast-check";

/** Text of any UTF-16 code units, including halves of surrogate pairs and control characters. */
export const anyString = (maxLength = 20): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.integer({ min: 0, max: 0xff }), fc.integer({ min: 0, max: 0xffff })), { maxLength })
    .map((units) => String.fromCharCode(...units));
