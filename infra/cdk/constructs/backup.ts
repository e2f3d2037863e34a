import { Duration, RemovalPolicy, Validations } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from "aws-cdk-lib/aws-backup";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { Schedule } from "aws-cdk-lib/aws-events";
import { Role, ServicePrincipal, ManagedPolicy } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

import type { Backup } from "../../config/settings.ts";

/**
 * Adds a daily backup of the table to a locked vault, and a copy of each backup to the vaults in `copyTo`. The locked
 * vault outlives the stack. The lock refuses to delete a backup that is younger than `keepDays` days.
 */
export function addBackup(scope: Construct, table: Table, stage: string, backup: Backup): void {
  const { keepDays, lock, lockDays, copyTo } = backup;
  const kept = Duration.days(keepDays);
  const vault = new BackupVault(scope, "BackupVault", {
    backupVaultName: `hosted-mail-${stage}`,
    lockConfiguration: {
      minRetention: kept,
      // Without `changeableFor`, everybody with the IAM right can remove the lock. AWS calls this governance mode.
      ...(lock === "compliance" ? { changeableFor: Duration.days(lockDays) } : {}),
    },
    removalPolicy: RemovalPolicy.RETAIN,
  });
  const copyActions = copyTo.map((arn, index) => ({
    destinationBackupVault: BackupVault.fromBackupVaultArn(scope, `BackupCopy${index}`, arn),
    deleteAfter: kept,
  }));
  const plan = new BackupPlan(scope, "BackupPlan", { backupPlanName: `hosted-mail-${stage}`, backupVault: vault });
  plan.addRule(
    new BackupPlanRule({
      ruleName: "daily",
      scheduleExpression: Schedule.cron({ hour: "3", minute: "0" }),
      deleteAfter: kept,
      copyActions,
    }),
  );
  const role = new Role(scope, "BackupRole", {
    assumedBy: new ServicePrincipal("backup.amazonaws.com"),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AWSBackupServiceRolePolicyForBackup")],
  });
  Validations.of(role).acknowledge({
    id: "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]",
    reason: "AWS extends this policy when AWS Backup needs another right. Only AWS Backup can use the role.",
  });
  plan.addSelection("Table", { resources: [BackupResource.fromDynamoDbTable(table)], role });
}
