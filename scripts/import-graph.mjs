import { posix } from 'node:path'
import ts from 'typescript'

/**
 * @typedef {object} Import
 * @property {string} specifier as written
 * @property {boolean} isType true if it does not exist at run time
 * @property {number} line
 *
 * @typedef {object} Edge
 * @property {string} from
 * @property {string} to
 * @property {boolean} isType true if no import from `from` to `to` exists at run time
 * @property {number} line of the first import that exists at run time, else of the first one
 */

/**
 * Returns every import of a source file in any form: import, export … from, import(…), types by import('…').
 *
 * @param {string} file
 * @param {string} text
 * @returns {Import[]}
 */
export function importsOf(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false)
  /** @type {Import[]} */
  const imports = []
  /** @param {ts.Node | undefined} specifier @param {boolean} isType */
  const add = (specifier, isType) => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return
    imports.push({ specifier: specifier.text, isType, line: source.getLineAndCharacterOfPosition(specifier.end).line + 1 })
  }
  for (const statement of source.statements) {
    // `import { type A }` stays an import at run time: only a whole `import type` is removed (verbatimModuleSyntax).
    if (ts.isImportDeclaration(statement))
      add(statement.moduleSpecifier, statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    if (ts.isExportDeclaration(statement)) add(statement.moduleSpecifier, statement.isTypeOnly)
  }
  // Only the few files that have one are traversed completely.
  if (/\bimport\s*\(/.test(text)) walk(source)
  return imports

  /** @param {ts.Node} node */
  function walk(node) {
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false)
    ts.forEachChild(node, walk)
  }
}

/**
 * Returns the imports between the files of one package. Imports of other packages, and of files that are not sources, are left out.
 *
 * @param {ReadonlyMap<string, string>} sources text of each file, by its path in `src`
 * @param {ReadonlyMap<string, string>} [ownNames] path in `src` of each entry, by the name under which it is imported
 * @returns {Edge[]} one for each pair of files
 */
export function importGraph(sources, ownNames = new Map()) {
  /** @type {Edge[]} */
  const edges = []
  for (const [from, text] of sources) {
    /** @type {Map<string, Edge>} */
    const byTarget = new Map()
    for (const { specifier, isType, line } of importsOf(from, text)) {
      const to = specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : ownNames.get(specifier)
      if (to === undefined || !sources.has(to)) continue
      const known = byTarget.get(to)
      if (known === undefined || (known.isType && !isType)) byTarget.set(to, { from, to, isType, line })
    }
    edges.push(...byTarget.values())
  }
  return edges
}

/**
 * Returns the import circles: groups of files that all reach each other.
 *
 * @param {readonly Edge[]} edges
 * @returns {string[][]}
 */
export function circlesOf(edges) {
  const next = targetsOf(edges)
  /** @type {Map<string, number>} */
  const order = new Map()
  /** @type {Map<string, number>} */
  const lowest = new Map()
  /** @type {string[]} */
  const open = []
  /** @type {Set<string>} */
  const isOpen = new Set()
  /** @type {string[][]} */
  const circles = []

  // Tarjan's algorithm: one traversal of all files.
  /** @param {string} file */
  const visit = (file) => {
    const number = order.size
    order.set(file, number)
    let low = number
    open.push(file)
    isOpen.add(file)
    for (const target of next.get(file) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (isOpen.has(target)) low = Math.min(low, order.get(target) ?? low)
    }
    lowest.set(file, low)
    if (low === number) {
      const group = open.splice(open.indexOf(file))
      for (const member of group) isOpen.delete(member)
      if (group.length > 1 || next.get(file)?.includes(file)) circles.push(group.sort())
    }
    return low
  }
  for (const file of next.keys()) if (!order.has(file)) visit(file)
  return circles
}

/**
 * Returns a shortest circle through the first file of a group returned by `circlesOf`.
 *
 * @param {readonly string[]} group
 * @param {readonly Edge[]} edges
 * @returns {Edge[]}
 */
export function shortestCircle(group, edges) {
  const [start = ''] = group
  const inside = edges.filter(({ from, to }) => group.includes(from) && group.includes(to))
  /** @type {Edge[][]} */
  let ways = inside.filter(({ from }) => from === start).map((edge) => [edge])
  const seen = new Set()
  for (;;) {
    const closed = ways.find((way) => way.at(-1)?.to === start)
    if (closed !== undefined) return closed
    ways = ways.flatMap((way) => {
      const end = way.at(-1)?.to
      if (seen.has(end)) return []
      seen.add(end)
      return inside.filter(({ from }) => from === end).map((edge) => [...way, edge])
    })
    if (ways.length === 0) throw new Error(`No circle leads through ${start}: pass a group that circlesOf has returned`)
  }
}

/** @param {readonly Edge[]} edges */
function targetsOf(edges) {
  /** @type {Map<string, string[]>} */
  const targets = new Map()
  for (const { from, to } of edges) {
    const known = targets.get(from)
    if (known === undefined) targets.set(from, [to])
    else known.push(to)
  }
  return targets
}
