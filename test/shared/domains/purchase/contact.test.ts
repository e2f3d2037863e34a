import { expect, test } from "vitest";

import { batchItem, StoredBatch } from "../../../../shared/domains/purchase/batch.ts";
import { ContactInfo, StoredContact } from "../../../../shared/domains/purchase/contact.ts";
import { contact } from "../../../support/domains.ts";

const given = (member: object): object => ({ ...contact, ...member });

test("a stored contact has every member that is asked for", () => {
  expect(Object.keys(StoredContact.shape)).toEqual(Object.keys(ContactInfo.shape));
});

test("a contact is text that can be seen; one that was let in otherwise is still read with its purchase", () => {
  const soft = given({ organization: "Soft\u00adware", phone: "+1" });
  expect(ContactInfo.safeParse(given({})).success).toBe(true);
  expect(ContactInfo.safeParse(soft).success).toBe(false);
  const ids = { id: "b", account_id: "a", workspace_id: "w" };
  const batch = { ...ids, contact: soft, waiting: [], created_at: "2026-01-01T00:00:00.000Z", version: 1 };
  expect(StoredBatch.parse(batchItem(batch as StoredBatch)).contact).toEqual(soft);
});
