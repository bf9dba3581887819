// node scripts/structure.mjs [package...]: compares the imports inside each package with the order of structure.js, and its mass with
// structure.ceilings.json. Lists all upward imports and circles of the named packages. --lower: writes smaller counts to the ceilings.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { mains, structure, targets } from '../structure.js'
import { graphCeiling, loweredMass, massOf, massProblems, optionsIn, tellMass } from './mass.mjs'
import { libraries } from './packages.mjs'
import { root } from './setup.mjs'
import { checkStructure, lowered } from './structure-check.mjs'

const ceilingsFile = join(root, 'structure.ceilings.json')
/** @type {Record<string, import('./mass.mjs').Ceiling>} */
const ceilings = JSON.parse(readFileSync(ceilingsFile, 'utf8'))

const args = process.argv.slice(2)
const lowers = args.includes('--lower')
const listed = args.filter((arg) => arg !== '--lower')
const names = libraries().map(({ folder }) => basename(folder))
const unknown = [...listed, ...Object.keys(structure), ...Object.keys(ceilings)].filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`No such package: ${unknown.join(', ')}. There are: ${names.join(', ')}`)
  process.exit(2)
}

const optionsPage = readFileSync(join(root, 'docs/options.md'), 'utf8')
const verdicts = new Map(names.map((name) => [name, verdictOf(name)]))
if (lowers) lowerCeilings()
for (const name of listed) for (const finding of verdicts.get(name)?.findings ?? []) console.log(finding)
const problems = names.flatMap((name) => (lowers ? verdictOf(name) : verdicts.get(name))?.problems ?? [])
// Gates show notes even if they pass.
for (const name of names) console.log(`note: ${tellMass(name, verdicts.get(name)?.mass, ceilings[name], targets[name])}`)
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
  const ownNames = ownNamesOf(folder)
  const ceiling = ceilings[name]
  const { hooks, options } = mains[name] ?? {}
  const mass = massOf({
    sources,
    entries: [...ownNames.values()],
    hooks,
    options: options === undefined ? undefined : optionsIn(optionsPage, options),
  })
  const verdict = checkStructure({ name, levels: structure[name], sources, ownNames, ceiling: graphCeiling(ceiling) })
  return { ...verdict, mass, problems: [...verdict.problems, ...massProblems(name, mass, ceiling)] }
}

/** @param {string} folder */
function ownNamesOf(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return new Map(Object.entries(exports).map(([subpath, file]) => [join(name, subpath), relative('src', String(file))]))
}

function lowerCeilings() {
  for (const [name, { counts, mass }] of verdicts) {
    const before = ceilings[name]
    const graph = graphCeiling(before)
    ceilings[name] = { ...loweredMass(before, mass), ...(graph && lowered(graph, counts)) }
  }
  writeFileSync(ceilingsFile, `${JSON.stringify(ceilings, null, 2)}\n`)
}
