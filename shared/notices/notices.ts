import { accountNotices } from "./account-notices.ts";
import { billingNotices } from "./billing-notices.ts";
import { domainNotices } from "./domain-notices.ts";
import type { NoticeMaker } from "./notice.ts";

/** The makers of notices, by the type of their event. */
export const noticeMakers: Readonly<Record<string, NoticeMaker>> = {
  ...accountNotices,
  ...billingNotices,
  ...domainNotices,
};

/** The types of the events for which notices can be sent. */
export const noticeTypes: readonly string[] = Object.keys(noticeMakers);
