/**
 * Draws the dashboard of the product's template as a picture, with made-up data: `node
 * test/infra/cdk/monitoring/draw-dashboard.ts dashboard.png`. It shows where each widget is and what it is called, so
 * that a person can judge whether the dashboard can be read. The data means nothing.
 */
import { chromium } from "playwright-core";

import { template } from "../../product-functions.ts";
import { only } from "../synthesis.ts";

type Widget = {
  type: string;
  x: number;
  y: number;
  width: number;
  height: number;
  properties: {
    title?: string;
    view?: string;
    markdown?: string;
    query?: string;
    alarms?: string[];
    metrics?: unknown[][];
    legend?: { position: string };
    annotations?: { horizontal?: { value: number; label: string; yAxis: string }[] };
  };
};

/** The text of a CloudFormation value. The name of a reference stands for its value. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const [[name, argument] = ["", ""]] = Object.entries(value as Record<string, unknown>);
  if (name === "Fn::Join") return (argument as [string, unknown[]])[1].map(textOf).join("");
  return [argument].flat().map(String).join(".");
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const colors = ["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"];
const [column, row] = [56, 42];

type Line = { label: string; color: string; isOnRightAxis: boolean };

/** The lines that a graph shows. A metric that only an expression uses is no line. */
function linesOf(metrics: unknown[][]): Line[] {
  const shown = metrics.filter((metric) => (metric.at(-1) as { visible?: boolean }).visible !== false);
  return shown.map((metric, index) => {
    const options = metric.at(-1) as { label?: string; color?: string; yAxis?: string };
    const name = typeof metric[1] === "string" ? metric[1] : "";
    const { label = name, color = colors[index % colors.length] ?? "", yAxis } = options;
    return { label, color, isOnRightAxis: yAxis === "right" };
  });
}

function graph({
  width,
  height,
  properties: { metrics = [], annotations, legend: { position } = { position: "bottom" } },
}: Widget): string {
  const isRight = position === "right";
  const [w, h] = [width * column - (isRight ? 190 : 24), height * row - (isRight ? 40 : 74)];
  const lines = linesOf(metrics);
  const paths = lines.map(({ color }, line) => {
    const points = Array.from({ length: 40 }, (_, at) => {
      const wave = Math.sin(at / (3 + line) + line) + Math.sin(at * 1.7 + line * 2) / 3;
      return `${(at * w) / 39},${h - h * (0.28 + line * 0.07 + wave * 0.06)}`;
    });
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
  });
  const limits = (annotations?.horizontal ?? []).map(
    ({ label, value }) =>
      `<line x1="0" x2="${w}" y1="${h * 0.15}" y2="${h * 0.15}" stroke="#d62728"/><text x="4" y="${h * 0.15 - 4}" fill="#d62728">${escape(label)} (${value})</text>`,
  );
  const legend = lines.map(
    ({ label, color, isOnRightAxis }) =>
      `<span style="color:${color}">■</span> ${escape(label)}${isOnRightAxis ? " (right)" : ""}`,
  );
  return `<svg width="${w}" height="${h}" style="border-bottom:1px solid #888">${paths.join("")}${limits.join("")}</svg><div class="legend ${position}">${legend.join(isRight ? "<br>" : " &nbsp; ")}</div>`;
}

function content(widget: Widget): string {
  const { type, properties } = widget;
  const { markdown = "", alarms = [], query = "", view } = properties;
  if (type === "text") {
    const [title = "", ...rest] = markdown.split("\n");
    const heading = title.startsWith("##") ? "h3" : "h2";
    return `<${heading}>${escape(title.replace(/^#+ /, ""))}</${heading}>${escape(rest.join(" "))}`;
  }
  if (type === "alarm") {
    // `textOf` makes `<logical id>.Arn` of the ARN of an alarm.
    const names = alarms.map((arn) => arn.replace(/\.Arn$/, ""));
    // One alarm is red, to show how an alarm in this state looks.
    const colorOf = (index: number): string => (index === 1 ? "red" : "green");
    const spans = names.map((name, index) => `<span class="${colorOf(index)}">${escape(name)}</span>`);
    return `<div class="alarms">${spans.join("")}</div>`;
  }
  if (type === "log") return `<pre>${escape(query)}</pre>`;
  if (view === "singleValue") return `<div class="value">99.9${widget.x % 10}<small> % good</small></div>`;
  return graph(widget);
}

const style = `body{margin:0;font:12px sans-serif;background:#f2f3f3;position:relative}
.w{position:absolute;background:#fff;border:1px solid #ccc;box-sizing:border-box;padding:6px 10px;overflow:hidden}
b{font-size:13px;display:block}h2,h3{margin:2px 0}.legend{font-size:11px}.legend.right{font-size:10px;position:absolute;right:8px;top:22px;width:150px}.value{font-size:34px}small{font-size:12px}pre{white-space:pre-wrap;font-size:10px}
.alarms{display:flex;flex-wrap:wrap;gap:6px;margin-top:6px}.alarms span{padding:6px 12px;border-radius:3px}.green{background:#d5f0d5}.red{background:#d62728;color:#fff}`;

const [, dashboard] = only(template, "AWS::CloudWatch::Dashboard");
const { widgets } = JSON.parse(textOf(dashboard["Properties"].DashboardBody)) as { widgets: Widget[] };
const boxes = widgets.map((widget) => {
  const { x, y, width, height, properties } = widget;
  const place = `left:${x * column}px;top:${y * row}px;width:${width * column - 4}px;height:${height * row - 4}px`;
  const title = properties.title === undefined ? "" : `<b>${escape(properties.title)}</b>`;
  return `<div class="w" style="${place}">${title}${content(widget)}</div>`;
});
const bottom = Math.max(...widgets.map(({ y, height }) => y + height));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--headless", "--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 24 * column, height: bottom * row } });
await page.setContent(`<style>${style}</style>${boxes.join("")}`);
await page.screenshot({ path: process.argv[2] ?? "dashboard.png" });
await browser.close();
