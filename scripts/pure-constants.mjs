import { readFile } from 'node:fs/promises'
import ts from 'typescript'

/**
 * Plugin of esbuild that marks the values of top-level variables as free of side effects. Bundlers keep an unused variable if its value
 * comes from a call or a property read, and a built file holds the variables of many sources: an import of one function would keep all.
 *
 * @type {import('esbuild').Plugin}
 */
export const pureConstants = {
  name: 'pure-constants',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => ({
      contents: markConstants(path, await readFile(path, 'utf8')),
      loader: path.endsWith('x') ? 'tsx' : 'ts',
    }))
  },
}

/**
 * Wraps each value that a bundler would keep in a marked call. Lines keep their numbers, for source maps.
 *
 * @param {string} path
 * @param {string} text TypeScript
 * @returns {string}
 */
export function markConstants(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const declarations = source.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => [...declarationList.declarations])
  return declarations.toReversed().reduce((result, declaration) => {
    const marked = markedDeclaration(declaration)
    return marked === undefined ? result : result.slice(0, declaration.getStart()) + marked + result.slice(declaration.getEnd())
  }, text)
}

/** @param {ts.VariableDeclaration} declaration */
function markedDeclaration({ name, initializer }) {
  if (!initializer || isAwaited(initializer)) return undefined
  const value = initializer.getText()
  if (ts.isIdentifier(name)) return mayDoSomething(initializer) ? `${name.text} = ${marked(value)}` : undefined
  // Bundlers keep a pattern, because it reads properties: each name becomes its own variable.
  if (!ts.isObjectBindingPattern(name) || !ts.isIdentifier(initializer)) return undefined
  return name.elements.map((element) => markedRead(value, element)).join(', ')
}

/**
 * @param {string} object
 * @param {ts.BindingElement} element
 */
function markedRead(object, { name, propertyName, initializer, dotDotDotToken }) {
  if (!ts.isIdentifier(name) || initializer || dotDotDotToken)
    throw new Error(`A top-level pattern of ${object} must hold names only: read the rest in statements of their own`)
  return `${name.text} = ${marked(`${object}.${propertyName?.getText() ?? name.text}`)}`
}

/** @param {string} value */
function marked(value) {
  return `/* @__PURE__ */ (() => (${value}))()`
}

/** @param {ts.Expression} value */
function isAwaited(value) {
  return holds(value, ts.isAwaitExpression)
}

/** @param {ts.Expression} value */
function mayDoSomething(value) {
  return holds(value, (node) => doers.some((isDoer) => isDoer(node)))
}

const doers = [
  ...[ts.isCallExpression, ts.isNewExpression, ts.isTaggedTemplateExpression, ts.isPropertyAccessExpression, ts.isElementAccessExpression],
  ...[ts.isSpreadAssignment, ts.isSpreadElement, ts.isComputedPropertyName, ts.isTemplateExpression],
]

/**
 * @param {ts.Node} node
 * @param {(node: ts.Node) => boolean} isIt
 * @returns {boolean} false for what is only inside a function or a type
 */
function holds(node, isIt) {
  if (ts.isFunctionLike(node) || ts.isTypeNode(node)) return false
  return isIt(node) || ts.forEachChild(node, (child) => holds(child, isIt)) === true
}
