import { expect, test } from "vitest";

import { lambdas, workers } from "../../../../infra/entry-points.ts";
import { functions, idOf, keyId } from "../../product-functions.ts";
import { onSecret, onSes, payments } from "../../provider-grants.ts";
import { only, spec, synthesize } from "../synthesis.ts";

test.each([
  {
    providers: ["secrets"],
    variable: "SECRETS_KEY_ID",
    value: { "Fn::GetAtt": [keyId, "Arn"] },
    some: ["code", "webhooks.add", "workers.dispatch_event", "workers.retry_deliveries"],
  },
  {
    providers: ["payments"],
    variable: "PAYMENTS_SECRET_NAME",
    value: "mail/stripe",
    some: ["code", "billing.topup_session.create", "billing.checkout_result.get", "workers.ask_checkouts"],
  },
  {
    providers: ["mail"],
    variable: "MAIL_PROVIDER",
    value: "ses",
    some: ["workers.send_verification", "workers.send_notices"],
  },
  { providers: ["mail_servers"], variable: "MAIL_SECRET_NAME", value: "mail/servers", some: ["mail.auth"] },
  {
    providers: ["files"],
    variable: "FILES_BUCKET",
    value: { Ref: "FilesBucket" },
    some: ["code", "mailboxes.exports.get", "workers.make_mailbox_export"],
  },
])(
  "a function that uses $providers gets the variable $variable, and no other function gets it",
  ({ providers, variable, value, some }) => {
    const told = Object.entries(functions).filter(([, { Properties }]) => {
      const given: unknown = Properties.Environment.Variables[variable];
      if (given !== undefined) expect(given).toEqual(value);
      return given !== undefined;
    });
    const declared = [...lambdas, ...workers].filter(({ uses = [] }) =>
      uses.some((provider) => providers.includes(provider)),
    );
    expect(told.map(([id]) => id).toSorted()).toEqual(declared.map(({ name }) => idOf(name)).toSorted());
    expect(declared.map(({ name }) => name)).toEqual(expect.arrayContaining(some));
  },
);

test("without a secret for payments, a function that takes payments may read no secret and gets no variable for it", () => {
  const topup = spec("billing.topup_session.create", { access: "none", uses: ["payments"] });
  const without = synthesize([topup]);
  const { Variables } = only(without, "AWS::Lambda::Function")[1]["Properties"].Environment;
  expect(Object.keys(Variables).filter((name) => /PAYMENTS|PUBLIC/.test(name))).toEqual([]);
  expect(JSON.stringify(without.findResources("AWS::IAM::Role"))).not.toContain("secretsmanager");
});

const sender = spec("workers.send_verification", { access: "none", uses: ["mail"] });
const variablesOf = (stack: ReturnType<typeof synthesize>): Record<string, unknown> =>
  only(stack, "AWS::Lambda::Function")[1]["Properties"].Environment.Variables;
const policyOf = (stack: ReturnType<typeof synthesize>, name: string) =>
  Object.values(stack.findResources("AWS::IAM::Role"))
    .flatMap(
      (role): { PolicyName: string; PolicyDocument: { Statement: { Action: string; Resource: unknown }[] } }[] =>
        role["Properties"].Policies ?? [],
    )
    .filter(({ PolicyName }) => PolicyName === name)
    .flatMap(({ PolicyDocument }) =>
      PolicyDocument.Statement.map(({ Action, Resource }) => [[Action].flat(), Resource]),
    );

test("a sender may use the domain of its From address, and the configuration set if there is one", () => {
  const settings = { publicUrl: "https://api.example", mailFrom: "Post <post@mx.example.net>" };
  const plain = synthesize([sender], settings);
  expect(policyOf(plain, "mail")).toEqual([onSes("identity/mx.example.net")]);
  expect(variablesOf(plain)).toMatchObject({ MAIL_PROVIDER: "ses", MAIL_FROM: settings.mailFrom });
  const watched = synthesize([sender], { ...settings, sesConfigurationSet: "verification" });
  expect(policyOf(watched, "mail")).toEqual([onSes("configuration-set/verification", "identity/mx.example.net")]);
  expect(variablesOf(watched)).toMatchObject({ SES_CONFIGURATION_SET: "verification" });
});

test("with an SMTP server, a sender may read the secret of the server, and may not use SES", () => {
  const stack = synthesize([sender], { publicUrl: "https://api.example", smtpSecretName: "mail/smtp" });
  expect(policyOf(stack, "mail")).toEqual([onSecret("mail/smtp")]);
  expect(variablesOf(stack)).toMatchObject({ MAIL_PROVIDER: "smtp", SMTP_URL_SECRET_NAME: "mail/smtp" });
});

test("without the public address of the API, no function may send mail", () => {
  const stack = synthesize([sender]);
  expect(policyOf(stack, "mail")).toEqual([]);
  expect(Object.keys(variablesOf(stack)).filter((name) => /MAIL_(?!ZONE)|SMTP|PUBLIC/.test(name))).toEqual([]);
});

test("a function that takes payments gets the address to which payers return, if it is configured", () => {
  const paymentsReturnUrl = "https://app.example/paid";
  const one = synthesize([spec("me.get", { uses: ["payments"] })], { ...payments, paymentsReturnUrl });
  expect(only(one, "AWS::Lambda::Function")[1]["Properties"].Environment.Variables).toMatchObject({
    PAYMENTS_RETURN_URL: paymentsReturnUrl,
  });
});
