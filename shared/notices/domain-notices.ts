import type * as z from "zod";

import { countText } from "../core/text.ts";
import { dayMs } from "../core/time.ts";
import { Domain } from "../domains/domain.ts";
import { type Block, sentence } from "../letters/letter.ts";
import { callOf, type Notice, type NoticeEvent, type NoticeMaker, paragraph, timeText } from "./notice.ts";

const EventDomain = Domain.pick({
  id: true,
  workspace_id: true,
  name: true,
  unicode_name: true,
  status_reason: true,
  deletes_at: true,
  registration: true,
  renewal: true,
  transfer: true,
  auto_renew: true,
});
type EventDomain = z.output<typeof EventDomain>;

/** Creates a `NoticeMaker` for a notice about a domain. `nameOf` is as in `NoticeMaker`. */
const aboutDomain =
  (
    make: (domain: EventDomain, event: NoticeEvent, nameOf: Parameters<NoticeMaker>[1]) => Notice | undefined,
  ): NoticeMaker =>
  (event, nameOf) =>
    make(EventDomain.parse(event.data), event, nameOf);

const callFor = (event: NoticeEvent, { name }: EventDomain, method: string, path = "", body?: object): Block =>
  callOf(event, method, `/domains/${name}${path}`, body);

const renewCall = (event: NoticeEvent, domain: EventDomain): Block =>
  callFor(event, domain, "POST", "/renew", { years: 1 });

type End = "expires_at" | "grace_ends_at" | "redemption_ends_at";

/** A time of a registration, for people. Earlier versions stored `expires_at` only. */
function endText({ registration }: EventDomain, member: End): string {
  const time = registration?.[member] ?? null;
  return time === null ? "an unknown time" : timeText(time);
}

/**
 * The number of days from an event to a time of a registration, rounded to whole days; 0 if the time is unknown.
 * Negative if the event is later than the time.
 */
const daysTo = (event: NoticeEvent, { registration }: EventDomain, member: End): number =>
  Math.round((Date.parse(registration?.[member] ?? event.timestamp) - Date.parse(event.timestamp)) / dayMs);

const hasFailedRenewal = ({ auto_renew, renewal }: EventDomain): boolean => auto_renew && renewal?.status === "failed";

/** The parts of a letter that say how a name that expires is renewed. */
function howToRenew(event: NoticeEvent, domain: EventDomain): Block[] {
  if (domain.renewal?.status === "running") {
    return [
      paragraph`A renewal has begun, but the registry has not confirmed it yet. Its price is held in the wallet. You need not do anything. If the renewal fails, we write to you.`,
    ];
  }
  if (!domain.auto_renew) {
    return [
      paragraph`Automatic renewal is off. Renew the name for a year with this call:`,
      renewCall(event, domain),
      paragraph`Or have it renewed automatically every year, paid from the wallet:`,
      callFor(event, domain, "PATCH", "", { auto_renew: true }),
    ];
  }
  return [
    hasFailedRenewal(domain)
      ? paragraph`Automatic renewal is on, but the last attempt failed: ${domain.renewal?.reason ?? "no reason is known."} We try again every day.`
      : paragraph`Automatic renewal is on, and is paid from the wallet. We try to renew the name every day.`,
    paragraph`You can renew the name yourself with this call:`,
    renewCall(event, domain),
  ];
}

/** The notices 30, 7 and 1 days before the end of a registration, at its end, and before the end of its grace. */
const expiring = aboutDomain((domain, event) => {
  const name = domain.unicode_name;
  const days = daysTo(event, domain, "expires_at");
  // The notice of `domain.renewal_failed` says the same on the same day, so this notice is not sent.
  if (days > 7 && hasFailedRenewal(domain)) return undefined;
  const ifNotRenewed = paragraph`If it is not renewed by then, its mail works until ${endText(domain, "grace_ends_at")}, and the price of the renewal stays the same.`;
  if (days > 0) {
    return {
      category: "domains",
      subject: sentence`${name} expires in ${countText(days, "day")}`,
      blocks: [
        paragraph`The registration of ${name} ends on ${endText(domain, "expires_at")}.`,
        ...howToRenew(event, domain),
        ifNotRenewed,
      ],
    };
  }
  const daysLeft = Math.max(1, daysTo(event, domain, "grace_ends_at"));
  return {
    category: "domains",
    subject:
      days === 0 ? sentence`${name} has expired` : sentence`The mail of ${name} stops in ${countText(daysLeft, "day")}`,
    blocks: [
      paragraph`The registration of ${name} ended on ${endText(domain, "expires_at")}. Its mail works until ${endText(domain, "grace_ends_at")}. Until then a renewal costs the normal price.`,
      ...howToRenew(event, domain),
    ],
  };
});

const expired = aboutDomain((domain, event) => ({
  category: "domains",
  subject: sentence`${domain.unicode_name} does not work any more`,
  blocks: [
    paragraph`${domain.unicode_name} was not renewed in time. Its mail does not work any more.`,
    paragraph`You can still get the name back until ${endText(domain, "redemption_ends_at")}. A renewal then also pays the registry's fee for a restoration. This call renews the name:`,
    renewCall(event, domain),
    paragraph`After that day everybody can register the name.`,
  ],
}));

/**
 * The product repeats a failed automatic renewal every day. All of its attempts within 15 days are one matter, so that
 * people do not get a mail every day.
 */
const renewalFailed = aboutDomain((domain, event) => {
  const { renewal, unicode_name: name } = domain;
  const isAutomatic = renewal?.by === "auto";
  const halfMonth = Math.floor((daysTo(event, domain, "expires_at") - 1) / 15);
  return {
    category: "domains",
    subject: sentence`${name} could not be renewed`,
    blocks: [
      paragraph`The registration of ${name} ends on ${endText(domain, "expires_at")}, and could not be renewed: ${renewal?.reason ?? "no reason is known."} Nothing was charged.`,
      ...(isAutomatic
        ? [paragraph`We try again every day. If the wallet lacks the money, top it up in time:`]
        : [paragraph`If the wallet lacks the money, top it up, and renew again:`]),
      callOf(event, "GET", "/billing/wallet-balance"),
      callOf(event, "POST", "/billing/topup-session", { amount: "50.00" }),
      renewCall(event, domain),
    ],
    ...(isAutomatic
      ? { matter: `domain.renewal_failed ${domain.id} ${domain.registration?.expires_at ?? ""} ${halfMonth}` }
      : {}),
  };
});

/** A caller who renews a name gets the result from the API. Only automatic renewals are news. */
const renewed = aboutDomain((domain) => {
  const { renewal, unicode_name: name } = domain;
  if (renewal?.by !== "auto") return undefined;
  return {
    category: "domains",
    subject: sentence`${name} was renewed`,
    blocks: [
      paragraph`We renewed ${name} automatically, paid from the wallet.`,
      {
        facts: [
          ["Domain", name],
          ["Registered until", endText(domain, "expires_at")],
          ["Price", `${renewal.price} ${renewal.currency}`],
        ],
      },
    ],
  };
});

const registrationFailed = aboutDomain(({ unicode_name: name, status_reason }) => ({
  category: "domains",
  subject: sentence`${name} could not be registered`,
  blocks: [
    paragraph`${name} could not be registered: ${status_reason ?? "no reason is known."} The money that was held for it is free again.`,
  ],
}));

const transferred = aboutDomain(({ unicode_name: name }) => ({
  category: "domains",
  subject: sentence`${name} was transferred to us`,
  blocks: [
    paragraph`The transfer of ${name} from its former registrar is complete. The name is registered with us now.`,
  ],
}));

const transferFailed = aboutDomain(({ unicode_name: name, transfer }) => ({
  category: "domains",
  subject: sentence`${name} could not be transferred`,
  blocks: [
    paragraph`${name} could not be transferred to us: ${transfer?.reason ?? "no reason is known."} The money that was held for it is free again.`,
  ],
}));

const transferredOut = aboutDomain(({ unicode_name: name }) => ({
  category: "security",
  subject: sentence`${name} was transferred to another registrar`,
  blocks: [
    paragraph`${name} is not registered with us any more. Another registrar has taken it over, and renews it from now on.`,
    paragraph`If none of you asked for this, write to that registrar at once. A transfer can be undone for a short time only.`,
  ],
}));

const authCodeCreated = aboutDomain((domain, event, nameOf) => ({
  category: "security",
  subject: sentence`The transfer of ${domain.unicode_name} was prepared`,
  blocks: [
    paragraph`${nameOf(event.actor)} asked for the code with which ${domain.unicode_name} can be transferred to another registrar, on ${timeText(event.timestamp)}.`,
    paragraph`If this was not meant to happen, lock the name. No transfer begins while it is locked:`,
    callFor(event, domain, "PATCH", "", { locked: true }),
  ],
}));

const released = aboutDomain((domain, event) => ({
  category: "domains",
  subject: sentence`You have lost ${domain.unicode_name}`,
  blocks: [
    paragraph`The registration of ${domain.unicode_name} was not renewed and has ended. Everybody can register the name now.`,
    paragraph`Its mailboxes are kept until ${timeText(domain.deletes_at ?? event.timestamp)}. They come back if this account gets the name again.`,
  ],
}));

const releasing = aboutDomain((domain, event, nameOf) => {
  if (domain.deletes_at === null) return undefined;
  return {
    category: "domains",
    subject: sentence`${domain.unicode_name} was deleted`,
    blocks: [
      paragraph`${nameOf(event.actor)} deleted the domain ${domain.unicode_name}. Its mailboxes and their mail are deleted for good on ${timeText(domain.deletes_at)}.`,
      paragraph`Until then this call gets everything back:`,
      callFor(event, domain, "POST", "/restore"),
    ],
  };
});

const takenOver = aboutDomain((domain, event) => ({
  category: "security",
  subject: sentence`Another account has taken over ${domain.unicode_name}`,
  blocks: [
    paragraph`${domain.unicode_name} does not belong to your account any more: ${domain.status_reason ?? "another account has the name."}`,
    paragraph`Its mailboxes are kept until ${timeText(domain.deletes_at ?? event.timestamp)}. If the name is yours, prove it, and get it back:`,
    // A domain whose registration here has ended cannot be restored, only added.
    domain.registration === null
      ? callFor(event, domain, "POST", "/restore")
      : callOf(event, "POST", "/domains", { name: domain.name, workspace_id: domain.workspace_id }),
  ],
}));

/** All faults of one name on one day are one matter, so that repeated changes of the DNS cause only one mail a day. */
const degraded = aboutDomain((domain, event) => ({
  category: "domain_health",
  subject: sentence`The DNS of ${domain.unicode_name} has a fault`,
  blocks: [
    paragraph`Mail to or from ${domain.unicode_name} can fail, because the public DNS is not as it should be: ${domain.status_reason ?? "a record is missing."}`,
    paragraph`These calls show what is wrong, and the records to publish:`,
    callFor(event, domain, "GET", "/health"),
    callFor(event, domain, "GET", "/dns-setup"),
    paragraph`We check again by ourselves, and write when the fault is gone.`,
  ],
  matter: `domain.degraded ${domain.id} ${event.timestamp.slice(0, 10)}`,
}));

const recovered = aboutDomain((domain, event) => ({
  category: "domain_health",
  subject: sentence`The DNS of ${domain.unicode_name} is right again`,
  blocks: [
    paragraph`All checks of ${domain.unicode_name} passed on ${timeText(event.timestamp)}. You need to do nothing.`,
  ],
  matter: `domain.recovered ${domain.id} ${event.timestamp.slice(0, 10)}`,
}));

/** The notices about domains, by the type of their event. */
export const domainNotices: Record<string, NoticeMaker> = {
  "domain.expiring": expiring,
  "domain.expired": expired,
  "domain.renewal_failed": renewalFailed,
  "domain.renewed": renewed,
  "domain.registration_failed": registrationFailed,
  "domain.transferred": transferred,
  "domain.transfer_failed": transferFailed,
  "domain.transferred_out": transferredOut,
  "domain.auth_code_created": authCodeCreated,
  "domain.released": released,
  "domain.releasing": releasing,
  "domain.taken_over": takenOver,
  "domain.degraded": degraded,
  "domain.recovered": recovered,
};
