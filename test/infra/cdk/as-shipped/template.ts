/** The region of the deployment that a test pretends. */
export const region = "eu-west-1";
/** The AWS account of the deployment that a test pretends. */
export const account = "123456789012";

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what the template has and asserts its shape
type Resource = { Type: string; Properties: Record<string, any>; Metadata?: Record<string, string> };

/** A statement of a role, with its resources and conditions resolved. */
export type Statement = {
  policy: string;
  actions: string[];
  resources: string[];
  /** `{ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["ACCOUNT#*"] } }` */
  conditions: Record<string, Record<string, string[]>>;
};

/**
 * A synthesized template as CloudFormation deploys it. Its resources get made-up names and ARNs, so that every `Ref`,
 * `Fn::GetAtt`, `Fn::Join` and `Fn::Sub` has a value. `names` gives the real names of some resources, by logical id.
 */
export class Deployed {
  readonly resources: Record<string, Resource>;
  readonly #names: Record<string, string>;

  constructor(template: { Resources: Record<string, unknown> }, names: Record<string, string> = {}) {
    this.resources = template.Resources as Record<string, Resource>;
    this.#names = names;
  }

  /** The resources of a type, with their logical ids. */
  ofType(type: string): [string, Resource][] {
    return Object.entries(this.resources).filter(([, { Type }]) => Type === type);
  }

  /** The value of an expression of the template. Throws for an unknown function of CloudFormation. */
  resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.resolve(one));
    if (typeof value !== "object" || value === null) return value;
    const [[name, argument] = ["", undefined]] = Object.entries(value);
    if (name === "Ref") return this.#ref(String(argument));
    if (name === "Fn::GetAtt") return this.#attribute(...(argument as [string, string]));
    if (name === "Fn::Sub") return this.#substitute(String(argument));
    if (name === "Fn::Join") {
      const [separator, parts] = argument as [string, unknown[]];
      return parts.map((part) => String(this.resolve(part))).join(separator);
    }
    if (name.startsWith("Fn::")) throw new Error(`The test cannot resolve ${JSON.stringify(value)}`);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.resolve(one)]));
  }

  /** The resolved value, which has to be a text. */
  text(value: unknown): string {
    const text = this.resolve(value);
    if (typeof text !== "string") throw new Error(`${JSON.stringify(value)} is no text in the template`);
    return text;
  }

  /** The properties of a resource. */
  properties(id: string): Resource["Properties"] {
    return this.#resource(id).Properties;
  }

  /** The logical id of the resource whose ARN this is. */
  idOf(arn: string): string {
    const found = Object.keys(this.resources).find((id) => this.#arn(id) === arn);
    if (found === undefined) throw new Error(`No resource of the template has the ARN ${arn}`);
    return found;
  }

  /** The statements of a role's policies. */
  statementsOf(role: string): Statement[] {
    type Policy = { PolicyName: string; PolicyDocument: { Statement: Record<string, unknown>[] } };
    const policies = (this.resources[role]?.Properties["Policies"] ?? []) as Policy[];
    return policies.flatMap(({ PolicyName, PolicyDocument }) =>
      PolicyDocument.Statement.map(({ Effect, Action, Resource, Condition = {} }) => {
        if (Effect !== "Allow") throw new Error(`The test evaluates statements that allow, not ${String(Effect)}`);
        return {
          policy: PolicyName,
          actions: [Action].flat() as string[],
          resources: [this.resolve(Resource)].flat() as string[],
          conditions: Condition as Statement["conditions"],
        };
      }),
    );
  }

  #ref(name: string): string {
    const pseudo: Record<string, string> = {
      "AWS::Partition": "aws",
      "AWS::Region": region,
      "AWS::AccountId": account,
      "AWS::URLSuffix": "amazonaws.com",
    };
    const value = pseudo[name] ?? this.#names[name];
    if (value !== undefined) return value;
    const { Type, Properties } = this.#resource(name);
    if (Type === "AWS::S3::Bucket") return name.toLowerCase();
    return String(Properties["Name"] ?? name);
  }

  #attribute(id: string, attribute: string): string {
    if (attribute === "Arn") return this.#arn(id);
    if (attribute === "StreamArn") return `${this.#arn(id)}/stream/2026-01-01T00:00:00.000`;
    return `${id}.${attribute}`;
  }

  #arn(id: string): string {
    const name = this.#ref(id);
    const shapes: Record<string, string> = {
      "AWS::DynamoDB::Table": `dynamodb:${region}:${account}:table/${name}`,
      "AWS::Events::EventBus": `events:${region}:${account}:event-bus/${name}`,
      "AWS::IAM::Role": `iam::${account}:role/${name}`,
      "AWS::KMS::Key": `kms:${region}:${account}:key/${name}`,
      "AWS::Lambda::Function": `lambda:${region}:${account}:function:${name}`,
      "AWS::Logs::LogGroup": `logs:${region}:${account}:log-group:${name}:*`,
      "AWS::S3::Bucket": `s3:::${name}`,
      "AWS::SQS::Queue": `sqs:${region}:${account}:${name}`,
    };
    const { Type } = this.#resource(id);
    return `arn:aws:${shapes[Type] ?? `${Type.replaceAll("::", "-").toLowerCase()}:${region}:${account}:${name}`}`;
  }

  #substitute(text: string): string {
    return text.replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => {
      const [id = "", attribute] = name.split(".");
      return attribute === undefined ? this.#ref(id) : this.#attribute(id, attribute);
    });
  }

  #resource(id: string): Resource {
    const found = this.resources[id];
    if (found === undefined) throw new Error(`The template has no resource ${id}`);
    return found;
  }
}
