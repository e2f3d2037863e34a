import { expect, test } from "vitest";

import { NewDomainName, registrable } from "../../../shared/domains/registrable.ts";

test("the registrable name is found with the suffixes of registries, and not of companies", () => {
  expect(registrable("mail.example.co.uk")).toEqual({ suffix: "co.uk", domain: "example.co.uk" });
  expect(registrable("shop.github.io")).toEqual({ suffix: "io", domain: "github.io" });
  expect(registrable("com")).toBeUndefined();
});

test("a new domain name must be below a suffix, and an error has only one message", () => {
  const faultsOf = (given: string) => NewDomainName.safeParse(given).error?.issues.map(({ message }) => message);
  expect(NewDomainName.parse("Shop.GitHub.io.")).toBe("shop.github.io");
  expect(faultsOf("github.io")).toEqual(["github.io is a public suffix. Write a name under it"]);
  expect(faultsOf("shop.test")).toEqual(["Names under .test are reserved. They are not on the public internet"]);
  expect(faultsOf("com")).toEqual(["Write the name with its top-level domain, such as example.com"]);
});
