import ts from 'typescript'

/** Fault in a source file: `replacement` instead of the text from `start` to `end`. */
export interface Mutant {
  readonly kind: MutationKind
  readonly start: number
  readonly end: number
  readonly line: number
  /** Text that is replaced. */
  readonly original: string
  readonly replacement: string
}

export type MutationKind =
  | 'always-true'
  | 'always-false'
  | 'drop-operand'
  | 'swap-operator'
  | 'move-boundary'
  | 'drop-not'
  | 'drop-statement'
  | 'drop-await'
  | 'drop-else'
  | 'drop-key'
  | 'empty-list'
  | 'empty-text'
  | 'flip-boolean'
  | 'other-number'

const swapped = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.LessThanToken, '>='],
  [ts.SyntaxKind.LessThanEqualsToken, '>'],
  [ts.SyntaxKind.GreaterThanToken, '<='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '<'],
  [ts.SyntaxKind.PlusToken, '-'],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.AsteriskToken, '/'],
  [ts.SyntaxKind.SlashToken, '*'],
])

const boundaries = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
])

const logical: readonly ts.SyntaxKind[] = [
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]

/** Returns the possible faults, each in one place, in the order of the text. Error messages and types are not changed. */
export function mutantsOf(fileName: string, text: string): readonly Mutant[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []
  const add = (kind: MutationKind, node: ts.Node, replacement: string): void => {
    const start = node.getStart(source)
    const line = source.getLineAndCharacterOfPosition(start).line + 1
    mutants.push({ kind, start, end: node.end, line, original: text.slice(start, node.end), replacement })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || isMessage(node)) return
    for (const [kind, place, replacement] of mistakesAt(node, source)) add(kind, place, replacement)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return mutants
}

type Mistake = readonly [kind: MutationKind, place: ts.Node, replacement: string]

function mistakesAt(node: ts.Node, source: ts.SourceFile): readonly Mistake[] {
  if (ts.isIfStatement(node)) return [...conditionMistakes(node.expression, source), ...elseMistakes(node, source)]
  if (ts.isConditionalExpression(node)) return conditionMistakes(node.condition, source)
  if (ts.isBinaryExpression(node)) return operatorMistakes(node, source)
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [['drop-not', node, node.operand.getText(source)]]
  if (ts.isExpressionStatement(node)) return statementMistakes(node)
  if (ts.isAwaitExpression(node)) return [['drop-await', node, `(${node.expression.getText(source)})`]]
  if (ts.isObjectLiteralExpression(node)) return node.properties.map((property) => ['drop-key', property, '...{}'] as const)
  return literalMistakes(node)
}

/** Keeps the condition in the text, so that it still narrows types. */
function conditionMistakes(condition: ts.Expression, source: ts.SourceFile): readonly Mistake[] {
  const text = condition.getText(source)
  return [
    ['always-true', condition, `(${text}) || true`],
    ['always-false', condition, `(${text}) && false`],
  ]
}

function elseMistakes({ elseStatement }: ts.IfStatement, source: ts.SourceFile): readonly Mistake[] {
  if (!elseStatement || elseStatement.getText(source) === '{}') return []
  return [['drop-else', elseStatement, '{}']]
}

function operatorMistakes({ left, operatorToken, right, parent }: ts.BinaryExpression, source: ts.SourceFile): readonly Mistake[] {
  const mistakes: Mistake[] = []
  const isText = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side))
  const other = swapped.get(operatorToken.kind)
  // `a && { key }` in a spread is a key that may be absent, not a decision between two values.
  const isSpread = ts.isParenthesizedExpression(parent) && ts.isSpreadAssignment(parent.parent)
  if (other !== undefined && !(isText && operatorToken.kind === ts.SyntaxKind.PlusToken) && !isSpread)
    mistakes.push(['swap-operator', operatorToken, other])
  const boundary = boundaries.get(operatorToken.kind)
  if (boundary !== undefined) mistakes.push(['move-boundary', operatorToken, boundary])
  if (logical.includes(operatorToken.kind)) {
    const whole = left.parent
    mistakes.push(['drop-operand', whole, `(${left.getText(source)})`])
    if (!isSpread) mistakes.push(['drop-operand', whole, `(${right.getText(source)})`])
  }
  return mistakes
}

/** Removes calls and assignments that are statements. */
function statementMistakes(node: ts.ExpressionStatement): readonly Mistake[] {
  const { expression } = node
  const inner = ts.isAwaitExpression(expression) || ts.isVoidExpression(expression) ? expression.expression : expression
  const isSuper = ts.isCallExpression(inner) && inner.expression.kind === ts.SyntaxKind.SuperKeyword
  const assigns = ts.isBinaryExpression(inner) && isAssignment(inner.operatorToken.kind)
  const isStep = ts.isPrefixUnaryExpression(inner) || ts.isPostfixUnaryExpression(inner) || ts.isDeleteExpression(inner)
  return (ts.isCallExpression(inner) && !isSuper) || assigns || isStep ? [['drop-statement', node, '{}']] : []
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
}

function literalMistakes(node: ts.Node): readonly Mistake[] {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [['flip-boolean', node, 'false']]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [['flip-boolean', node, 'true']]
  if (ts.isNumericLiteral(node)) return [['other-number', node, String(Number(node.text.replaceAll('_', '')) + 1)]]
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 0 && !isAssigned(node)) return [['empty-list', node, '[]']]
  // A text with a space is a sentence for people.
  if (ts.isStringLiteral(node) && node.text !== '' && !node.text.includes(' ') && !isName(node)) return [['empty-text', node, "''"]]
  return []
}

/** Returns true on the left of `=`, as in `[a, b] = [b, a]`. */
function isAssigned(node: ts.Node): boolean {
  return ts.isBinaryExpression(node.parent) && node.parent.left === node && node.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
}

/** Returns true for the name of a property or a module. */
function isName(node: ts.StringLiteral): boolean {
  const { parent } = node
  return (
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    (ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword)
  )
}

/** Returns true for a text for people: messages of errors are not tested. */
function isMessage(node: ts.Node): boolean {
  return ts.isTemplateExpression(node) && node.head.text.includes(' ')
}

/** Returns the text of the file with the fault. */
export function plant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end)
}
