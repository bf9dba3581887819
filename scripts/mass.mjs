import ts from 'typescript'

/**
 * @typedef {object} Mass
 * @property {number} lines of code, without comments and blank lines
 * @property {number} files
 * @property {number} shortFiles files with fewer than 20 lines of code
 * @property {number} exportedNames values and types that users can import
 * @property {number} [hooks] points of a turn at which a plug-in may act
 * @property {number} [options] options of the main function of the package
 */

/**
 * @typedef {Mass & Partial<import('./structure-check.mjs').Counts> & { readonly testSeconds?: number }} Ceiling
 * `testSeconds`: processor time of the package's tests, which the reporter of the tests checks
 * @typedef {Partial<Ceiling>} Target
 */

const shortLines = 20

/** @type {Readonly<Record<keyof Mass, string>>} */
const names = {
  lines: 'lines of code',
  files: 'files',
  shortFiles: `files under ${shortLines} lines`,
  exportedNames: 'exported names',
  hooks: 'kernel hooks',
  options: 'options of its main function',
}
const kinds = /** @type {readonly (keyof Mass)[]} */ (Object.keys(names))
const graphKinds = /** @type {const} */ (['upwardImports', 'filesInCirclesByValue', 'filesInCircles'])

/**
 * Counts what a package holds.
 *
 * @param {object} given
 * @param {ReadonlyMap<string, string>} given.sources text of each file, by its path in `src`
 * @param {readonly string[]} given.entries paths in `src` of the files that users import
 * @param {{ readonly file: string, readonly name: string } | undefined} [given.hooks] interface with one member per hook
 * @param {number | undefined} [given.options]
 * @returns {Mass}
 */
export function massOf({ sources, entries, hooks, options }) {
  const lengths = [...sources.values()].map(linesOfCode)
  const names = new Set(entries.flatMap((entry) => exportedNames(sources.get(entry) ?? '')))
  return {
    lines: lengths.reduce((sum, lines) => sum + lines, 0),
    files: lengths.length,
    shortFiles: lengths.filter((lines) => lines < shortLines).length,
    exportedNames: names.size,
    ...(hooks && { hooks: membersOf(sources.get(hooks.file) ?? '', hooks.name) }),
    ...(options !== undefined && { options }),
  }
}

/**
 * Returns the number of lines that are neither blank nor part of a comment. A comment on a line of its own begins with its mark.
 *
 * @param {string} text
 */
export function linesOfCode(text) {
  let isInComment = false
  let lines = 0
  for (const line of text.split('\n')) {
    const content = line.trim()
    if (!isInComment && content !== '' && !content.startsWith('//') && !content.startsWith('/*')) lines += 1
    if (!isInComment && content.startsWith('/*')) isInComment = true
    if (isInComment && content.endsWith('*/')) isInComment = false
  }
  return lines
}

/**
 * Returns the names that a file exports. Lists of the form `export *` are forbidden, so each name is written in it.
 *
 * @param {string} text
 */
export function exportedNames(text) {
  const source = ts.createSourceFile('entry.ts', text, ts.ScriptTarget.Latest, false)
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement
      return exportClause && ts.isNamedExports(exportClause) ? exportClause.elements.map(({ name }) => name.text) : []
    }
    if (!ts.canHaveModifiers(statement) || !ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? name.text : []))
    }
    const { name } = /** @type {ts.DeclarationStatement} */ (statement)
    return name && ts.isIdentifier(name) ? [name.text] : []
  })
}

/**
 * Returns the number of members of an interface, or 0 if the file does not have it.
 *
 * @param {string} text
 * @param {string} name
 */
function membersOf(text, name) {
  const source = ts.createSourceFile('hooks.ts', text, ts.ScriptTarget.Latest, false)
  const found = source.statements.find((statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name)
  return found && ts.isInterfaceDeclaration(found) ? found.members.length : 0
}

/**
 * Returns the number of options that the page of options lists for a type.
 *
 * @param {string} page
 * @param {string} type
 */
export function optionsIn(page, type) {
  const [, section = ''] = page.split(`\n### ${type}\n`)
  return (
    (section.split('\n## ')[0] ?? '')
      .split('\n### ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `')).length ?? 0
  )
}

/**
 * Returns why the mass of a package is not accepted.
 *
 * @param {string} name
 * @param {Mass} mass
 * @param {Ceiling | undefined} ceiling
 */
export function massProblems(name, mass, ceiling) {
  if (ceiling === undefined) return [`${name} has no ceilings. Write them with \`node scripts/structure.mjs --lower\`.`]
  return kinds.flatMap((kind) => {
    const now = mass[kind] ?? 0
    const most = ceiling[kind] ?? 0
    if (now <= most) return []
    const way =
      'Take away as much elsewhere in the package. If that cannot be, raise it in structure.ceilings.json and say why in the commit.'
    return [`${name}: ${now} ${names[kind]}, and the ceiling is ${most}. ${way}`]
  })
}

/**
 * Returns one line with the counts of a package, each with its ceiling and its target.
 *
 * @param {string} name
 * @param {Mass | undefined} mass
 * @param {Ceiling | undefined} ceiling
 * @param {Target | undefined} target
 */
export function tellMass(name, mass, ceiling, target) {
  const counts = kinds.flatMap((kind) => {
    const now = mass?.[kind]
    const wanted = target?.[kind]
    return now === undefined
      ? []
      : `${now} ${names[kind]} (ceiling ${ceiling?.[kind] ?? 0}${wanted === undefined ? '' : `, target ${wanted}`})`
  })
  return `${name}: ${counts.join('; ')}`
}

/**
 * Returns the ceilings of the mass, lowered to the counts. A package without ceilings gets its counts.
 *
 * @param {Ceiling | undefined} ceiling
 * @param {Mass} mass
 */
export function loweredMass(ceiling, mass) {
  const lowered = kinds.flatMap((kind) => {
    const now = mass[kind]
    return now === undefined ? [] : [[kind, Math.min(now, ceiling?.[kind] ?? now)]]
  })
  return /** @type {Mass} */ ({
    ...Object.fromEntries(lowered),
    ...(ceiling?.testSeconds !== undefined && { testSeconds: ceiling.testSeconds }),
  })
}

/**
 * Returns the ceilings of the imports, or undefined if none may be wrong.
 *
 * @param {Ceiling | undefined} ceiling
 * @returns {import('./structure-check.mjs').Counts | undefined}
 */
export function graphCeiling(ceiling) {
  if (ceiling === undefined || graphKinds.every((kind) => ceiling[kind] === undefined)) return undefined
  const { upwardImports = 0, filesInCirclesByValue = 0, filesInCircles = 0 } = ceiling
  return { upwardImports, filesInCirclesByValue, filesInCircles }
}
