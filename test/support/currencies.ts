import { vi } from "vitest";

/** Prices in EUR that differ from those in USD in every member. */
const euroPrices = {
  from: "2026-01-01",
  currency: "EUR",
  plans: {
    per_mailbox: { minimum: 430, mailbox: 270, dedicatedIp: 2_100, sentMails: 3 },
    per_dedicated_ip: { minimum: 70, mailbox: 10, dedicatedIp: 8_900, sentMails: 30 },
  },
};

/** Lets accounts pay in EUR, as a stage with these prices does. */
export const sellInEuros = (): void => void vi.stubEnv("PLAN_PRICES", JSON.stringify([euroPrices]));
