// node scripts/structure.mjs [package...]: compares the imports inside each package with the order of structure.js, and lists all
// upward imports and circles of the named packages. --lower: writes the remaining counts to structure.ceilings.json.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { structure } from '../structure.js'
import { publishedPackages } from './packages.mjs'
import { root } from './setup.mjs'
import { checkStructure, lowered } from './structure-check.mjs'

const ceilingsFile = join(root, 'structure.ceilings.json')
/** @type {Record<string, import('./structure-check.mjs').Counts>} */
const ceilings = JSON.parse(readFileSync(ceilingsFile, 'utf8'))

const args = process.argv.slice(2)
const lowers = args.includes('--lower')
const listed = args.filter((arg) => arg !== '--lower')
const names = publishedPackages().map(({ folder }) => basename(folder))
const unknown = [...listed, ...Object.keys(structure), ...Object.keys(ceilings)].filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`No such package: ${unknown.join(', ')}. There are: ${names.join(', ')}`)
  process.exit(2)
}

const verdicts = new Map(names.map((name) => [name, verdictOf(name)]))
if (lowers) lowerCeilings()
for (const name of listed) for (const finding of verdicts.get(name)?.findings ?? []) console.log(finding)
const problems = names.flatMap((name) => (lowers ? verdictOf(name) : verdicts.get(name))?.problems ?? [])
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/** @param {string} name */
function verdictOf(name) {
  const folder = join(root, 'packages', name)
  const cwd = join(folder, 'src')
  const files = globSync('**/*.{ts,tsx}', { cwd })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
  const sources = new Map(files.map((file) => [file, readFileSync(join(cwd, file), 'utf8')]))
  return checkStructure({ name, levels: structure[name], sources, ownNames: ownNamesOf(folder), ceiling: ceilings[name] })
}

/** @param {string} folder */
function ownNamesOf(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return new Map(Object.entries(exports).map(([subpath, file]) => [join(name, subpath), relative('src', String(file))]))
}

function lowerCeilings() {
  for (const [name, ceiling] of Object.entries(ceilings)) {
    const counts = verdicts.get(name)?.counts
    const lower = counts && lowered(ceiling, counts)
    if (lower === undefined) delete ceilings[name]
    else ceilings[name] = lower
  }
  writeFileSync(ceilingsFile, `${JSON.stringify(ceilings, null, 2)}\n`)
}
