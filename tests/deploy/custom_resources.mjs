// usage: node custom_resources.mjs FILE PACKAGES
// Validates objects of the Prometheus operator and of KEDA against the schemas that their projects publish, as the
// packages @kubernetes-models/… in the folder PACKAGES have them. The schemas say nothing of unknown fields, which do
// nothing in a cluster; the compiler finds these by the types.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [file, packages] = process.argv.slice(2);
const PACKAGE_OF = { "monitoring.coreos.com": "prometheus-operator", "keda.sh": "keda" };

const inPackages = (path) => resolve(packages, "node_modules", path);
const { default: ts } = await import(pathToFileURL(inPackages("typescript/lib/typescript.js")));

const modelOf = (object) =>
  `@kubernetes-models/${PACKAGE_OF[object.apiVersion.split("/")[0]]}/${object.apiVersion}/${object.kind}`;
const nameOf = (object) => `${object.kind} ${object.metadata.name}`;

async function validate(object) {
  const { [object.kind]: Model } = await import(pathToFileURL(inPackages(`${modelOf(object)}.js`)));
  new Model(object).validate();
}

// A line for each object, so that the line of a message names the object.
function mistyped(objects) {
  const source = resolve(packages, "objects.ts");
  const typed = (object) => `{ const typed: import("${modelOf(object)}").I${object.kind} = ${JSON.stringify(object)}; }`;
  writeFileSync(source, objects.map(typed).join("\n"));
  const program = ts.createProgram([source], {
    noEmit: true, strict: true, skipLibCheck: true, types: [],
    module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file: at, start, messageText }) => {
    const object = at && objects[at.getLineAndCharacterOfPosition(start).line];
    return `${object ? nameOf(object) : "types"}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

const objects = JSON.parse(readFileSync(file, "utf8"));
let wrong = objects.length === 0 ? ["no objects to validate"] : mistyped(objects);
for (const object of objects) {
  await validate(object).catch((error) => wrong.push(`${nameOf(object)}: ${error.message}`));
}
console.log(wrong.join("\n") || `${objects.length} objects fit the schemas of their projects`);
process.exit(wrong.length && 1);
