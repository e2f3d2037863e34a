import { lambdas, workers } from "../../infra/entry-points.ts";
import { only, spec, synthesize } from "./cdk/synthesis.ts";
import { payments } from "./provider-grants.ts";

/** The stack of the whole product, and one additional function that has no access to the table. */
export const template = synthesize(
  [...lambdas, spec("dns_records.search", { access: "none" })],
  payments,
  undefined,
  workers,
);
export const functions = template.findResources("AWS::Lambda::Function");
export const roles = template.findResources("AWS::IAM::Role");
export const [tableId] = only(template, "AWS::DynamoDB::Table");
export const [keyId, key] = only(template, "AWS::KMS::Key");
export const functionLogsId = Object.keys(template.findResources("AWS::Logs::LogGroup")).find((id) =>
  id.startsWith("FunctionLogs"),
);

type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: unknown };

/** The logical id of a function's role. */
export const roleIdOf = (functionId: string): string => functions[functionId]?.["Properties"].Role["Fn::GetAtt"][0];

/** Everything the function with this logical id may do, as [actions, resource, condition if any]. */
export const grantsOf = (functionId: string): unknown[][] =>
  roles[roleIdOf(functionId)]?.["Properties"].Policies.flatMap(
    (policy: { PolicyDocument: { Statement: Statement[] } }) =>
      policy.PolicyDocument.Statement.map(({ Action, Resource, Condition }) => [
        [Action].flat().toSorted(),
        Resource,
        ...(Condition === undefined ? [] : [Condition]),
      ]),
  );

/** The logical id of the function of a Lambda, from its name. */
export const idOf = (name: string): string =>
  `${name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")}Function`;
