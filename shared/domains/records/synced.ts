import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { syncSoon } from "./soon.ts";
import type { DnsRecord, StoredRecord } from "./stored-record.ts";
import { recordView } from "./view.ts";

/** A record that was just written, as it is once the nameservers were told: `pending` when they do not have it yet. */
export const shownOnceSynced = async (
  record: StoredRecord,
  domain: StoredDomain,
  context: Context,
): Promise<DnsRecord> => recordView(record, await syncSoon(domain, context));
