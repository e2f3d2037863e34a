import type { Payments } from "../../shared/providers/payments/payments.ts";

const unused = (): Promise<never> => Promise.reject(new Error("This test saves no card."));

/** The part of a payment provider that tests without saved cards never call. */
export const noCards = {
  expireCheckout: unused,
  createCustomer: unused,
  createCardSetup: unused,
  getCardSetup: unused,
  removeCard: unused,
  charge: unused,
  getCharge: unused,
} satisfies Partial<Payments>;
