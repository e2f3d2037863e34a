import { expect, test } from "vitest";

import { selectors } from "../../../shared/domains/records/dkim-keys.ts";
import { dkimNameOf } from "../../../shared/domains/records/system-records.ts";
import { NewDomainName, registrableName } from "../../../shared/domains/registrable.ts";

test("the registrableName name is found with the suffixes of registries, and not of companies", () => {
  expect(registrableName("mail.example.co.uk")).toEqual({ suffix: "co.uk", domain: "example.co.uk" });
  expect(registrableName("shop.github.io")).toEqual({ suffix: "io", domain: "github.io" });
  expect(registrableName("com")).toBeUndefined();
});

test("a new domain name must be below a suffix, and an error has only one message", () => {
  const faultsOf = (given: string) => NewDomainName.safeParse(given).error?.issues.map(({ message }) => message);
  expect(NewDomainName.parse("Shop.GitHub.io.")).toBe("shop.github.io");
  expect(faultsOf("github.io")).toEqual(["github.io is a public suffix. Write a name under it"]);
  expect(faultsOf("shop.test")).toEqual(["Names under .test are reserved. They are not on the public internet"]);
  expect(faultsOf("com")).toEqual(["Write the name with its top-level domain, such as example.com"]);
});

test("a new domain name leaves room for the names of its mail records", () => {
  const nameOf = (bytes: number) => `${"a".repeat(bytes - 196)}${`.${"a".repeat(63)}`.repeat(3)}.com`;
  expect(NewDomainName.parse(nameOf(238))).toHaveLength(238);
  expect(`${dkimNameOf(selectors[0])}.${nameOf(238)}`).toHaveLength(253);
  for (const bytes of [239, 253]) {
    const { error } = NewDomainName.safeParse(nameOf(bytes));
    expect(error?.issues).toMatchObject([{ message: expect.stringContaining("longer than 238 bytes") }]);
  }
});
