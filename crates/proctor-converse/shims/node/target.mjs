// Finding the agent: `./file.ts#export` from the project's root; without `#`, the default export.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { AgentProblem, summary, typeName } from './answer.mjs';
import { sessionMaker } from './plain.mjs';
import { setAgentFile } from './project_modules.mjs';

const TYPESCRIPT = ['.ts', '.mts', '.cts', '.tsx'];

/** What begins a conversation with the agent that the target names. */
export async function loadTarget(target) {
  const [file, name = 'default'] = splitTarget(target);
  const found = path.resolve(file);
  if (!fs.existsSync(found)) {
    throw new AgentProblem(`there is no file ${found}; the target is \`./file.js#export\` from the project's root, or a path as in \`\${here}/agent.js#agent\``);
  }
  if (TYPESCRIPT.includes(path.extname(found))) await prepareTypeScript(found);
  setAgentFile(found);
  const module = await importFile(found, file);
  const value = pick(module, name, file);
  return sessionMaker(value, `\`${target}\``);
}

function splitTarget(target) {
  const at = target.lastIndexOf('#');
  return at < 0 ? [target] : [target.slice(0, at), target.slice(at + 1) || undefined];
}

/** tsx if the project has it; else Node's own reading of TypeScript. */
async function prepareTypeScript(file) {
  const require = createRequire(file);
  if (isFound(require, 'tsx/esm/api')) {
    // Both: a package without `"type": "module"` has its TypeScript read as CommonJS, whatever it is imported by.
    if (isFound(require, 'tsx/cjs/api')) require('tsx/cjs/api').register();
    (await import(pathToFileURL(importedTsx(require)))).register();
  } else if (!process.features.typescript || path.extname(file) === '.tsx') {
    throw new AgentProblem(
      `Node ${process.versions.node} (${process.execPath}) cannot read ${path.basename(file)}: use Node 22.18 or newer for plain TypeScript, install tsx in the project (\`npm install --save-dev tsx\`), or name the compiled file`,
    );
  }
}

function isFound(require, name) {
  try {
    return Boolean(require.resolve(name));
  } catch {
    return false;
  }
}

/** What `require` is given registers itself by a path that does not exist; the module for `import` stands beside it. */
function importedTsx(require) {
  const required = require.resolve('tsx/esm/api');
  const imported = required.replace(/\.cjs$/, '.mjs');
  return fs.existsSync(imported) ? imported : required;
}

async function importFile(found, file) {
  try {
    return await import(pathToFileURL(found));
  } catch (error) {
    process.stderr.write(`${error?.stack ?? String(error)}\n`);
    if (error?.code === 'ERR_MODULE_NOT_FOUND' || error?.code === 'MODULE_NOT_FOUND') {
      const message = String(error.message).split('\n')[0];
      throw new AgentProblem(`\`${file}\` cannot be imported: ${message}; is it installed (\`npm install\`)? Node is ${process.versions.node} at ${process.execPath}`);
    }
    throw new AgentProblem(`\`${file}\` cannot be imported: ${summary(error)}${syntaxPlace(error)}`);
  }
}

/** Where a syntax error is: its stack begins with file and line. */
function syntaxPlace(error) {
  if (!(error instanceof SyntaxError)) return '';
  const first = String(error.stack).split('\n')[0].replace('file://', '');
  return /:\d+$/.test(first) ? ` (${first.replace(`${process.cwd()}/`, '')})` : '';
}

function pick(module, name, file) {
  const inner = module.default;
  const required = typeof inner === 'object' && inner !== null ? inner : {};
  // What a compiler made of a module with a default export is a default export itself where it is read as CommonJS.
  const places = required.__esModule ? [required, module] : [module, required];
  const place = places.find((one) => name in one);
  const value = place?.[name];
  if (value === undefined || value === null) {
    const names = [...new Set(places.flatMap((one) => Object.keys(one)))].filter((key) => key !== 'module.exports');
    const exported = names.length > 0 ? `; it exports ${names.slice(0, 8).map((key) => `\`${key}\``).join(', ')}` : '; it exports nothing';
    const missing = name === 'default' ? 'has no default export; say which, as in `#agent`' : `exports no \`${name}\``;
    throw new AgentProblem(`\`${file}\` ${missing}${exported}`);
  }
  if (!['function', 'object'].includes(typeof value) || Array.isArray(value)) {
    throw new AgentProblem(`\`${name}\` of \`${file}\` is ${Array.isArray(value) ? 'a list' : typeName(value)}, not a function, class or agent`);
  }
  return value;
}
