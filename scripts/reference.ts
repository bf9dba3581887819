// node scripts/reference.ts: writes docs/options.md and docs/events.md from the types, so that they are always correct.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const packages = ['llm', 'agent-loop', 'sessions', 'postgres', 'redis', 'restate', 'bridge', 'server', 'client', 'testing']

/** Names of objects that users write. */
const written = /(?:Options|Policy|Limits)$/

interface Interface {
  readonly name: string
  readonly about: string
  readonly bases: readonly string[]
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  readonly type: string
  readonly isOptional: boolean
  readonly about: string
}

const longestType = 100

/** Returns the interfaces of a folder by name. */
function interfacesIn(folder: string): ReadonlyMap<string, Interface> {
  const found = new Map<string, Interface>()
  for (const file of globSync(`${folder}/**/*.ts`, { cwd: root }).sort()) {
    const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.ES2024, true)
    for (const statement of source.statements) {
      if (ts.isInterfaceDeclaration(statement)) found.set(statement.name.text, readInterface(statement))
    }
  }
  return found
}

function readInterface(declaration: ts.InterfaceDeclaration): Interface {
  return {
    name: declaration.name.text,
    about: aboutOf(declaration),
    bases: (declaration.heritageClauses ?? []).flatMap(({ types }) => types.map(({ expression }) => expression.getText())),
    fields: declaration.members.flatMap((member) => {
      if (!(ts.isPropertySignature(member) || ts.isMethodSignature(member))) return []
      const type = ts.isMethodSignature(member)
        ? `(${member.parameters.map((parameter) => parameter.getText()).join(', ')}) => ${member.type?.getText() ?? 'void'}`
        : (member.type?.getText() ?? 'unknown')
      return [{ name: member.name.getText(), type, isOptional: member.questionToken !== undefined, about: aboutOf(member) }]
    }),
  }
}

function aboutOf(node: ts.Node): string {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  return comments
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Returns the names that the entries of a package export. */
function exportsOf(name: string): ReadonlySet<string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  const exported = new Set<string>()
  const visit = (file: string): void => {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2024, true)
    for (const statement of source.statements) {
      if (ts.isExportDeclaration(statement)) {
        const { exportClause, moduleSpecifier } = statement
        if (exportClause && ts.isNamedExports(exportClause)) for (const element of exportClause.elements) exported.add(element.name.text)
        else if (!exportClause && moduleSpecifier && ts.isStringLiteral(moduleSpecifier)) visit(join(dirname(file), moduleSpecifier.text))
      } else if (ts.isInterfaceDeclaration(statement) && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
        exported.add(statement.name.text)
    }
  }
  for (const entry of Object.values(exports)) visit(join(root, 'packages', name, entry))
  return exported
}

/** Returns the fields of an interface and of those that it extends, its own last. */
function allFields(one: Interface, known: ReadonlyMap<string, Interface>): readonly Field[] {
  const own = new Set(one.fields.map(({ name }) => name))
  const inherited = one.bases.flatMap((base) => {
    const above = known.get(base)
    return above ? allFields(above, known) : []
  })
  return [...inherited.filter(({ name }) => !own.has(name)), ...one.fields]
}

function sectionOf(title: string, { about, bases, fields }: Interface): string {
  const above = bases.map((base) => `\`${base}\``).join(' and ')
  const parts = [
    cellOf(about),
    above && `Has the fields of ${above}${fields.length > 0 ? ', and:' : '.'}`,
    fields.length > 0 ? table('field', fields) : '',
  ]
  return [`### ${title}`, ...parts.filter((part) => part !== '')].join('\n\n')
}

function table(head: string, fields: readonly Field[]): string {
  const rows = fields.map(
    ({ name, type, isOptional, about }) => `| \`${name}${isOptional ? '?' : ''}\` | ${codeOf(type)} | ${cellOf(about)} |`,
  )
  return [`| ${head} | type | |`, '| --- | --- | --- |', ...rows].join('\n')
}

function codeOf(type: string): string {
  const line = type
    .replaceAll(/\/\*\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const short = line.length > longestType ? `${line.slice(0, longestType)}…` : line
  return `\`${short.replaceAll('|', '\\|')}\``
}

/** Escapes a table cell: outside code, Markdown reads generics as HTML and braces as templates. */
function cellOf(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, place) => (place % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll(/\{@link ([^}]+)\}/g, '`$1`')))
    .join('')
    .replaceAll('|', '\\|')
}

export function optionsPage(): string {
  const sections = packages.map((name) => {
    const known = interfacesIn(`packages/${name}/src`)
    const exported = exportsOf(name)
    const options = [...known.values()]
      .filter((one) => written.test(one.name) && exported.has(one.name))
      .sort((one, other) => one.name.localeCompare(other.name))
    const parts = options.flatMap((one) => {
      const fields = allFields(one, known)
      return fields.length === 0 ? [] : [`### ${one.name}\n\n${one.about && `${cellOf(one.about)}\n\n`}${table('option', fields)}`]
    })
    return `## @bowline/${name}\n\n${parts.join('\n\n')}`
  })
  return `# Options

Each option of each package, with its default. \`node scripts/reference.ts\` makes this page from the types. An unknown option is refused.

${sections.join('\n\n')}
`
}

export function eventsPage(): string {
  const known = interfacesIn('packages/agent-loop/src/events')
  const file = readFileSync(join(root, 'packages/agent-loop/src/events/agent-event.ts'), 'utf8')
  const membersOf = (name: string): readonly string[] => {
    const [, members = ''] = new RegExp(`export type ${name} =\\n((?: {2}\\| \\w+\\n)+)`).exec(file) ?? []
    return [...members.matchAll(/\| (\w+)/g)].map(([, member = '']) => member)
  }
  const bases = ['EventBase', 'RunEventBase', 'StepEventBase', 'ToolEventBase', 'BlockEventBase', 'ChildEventBase', 'MaybeBackground']
  const describe = (name: string): string => {
    const one = known.get(name)
    if (!one) throw new Error(`There is no interface ${name} in packages/agent-loop/src/events.`)
    const type = /'([^']+)'/.exec(one.fields.find((field) => field.name === 'type')?.type ?? '')?.[1] ?? name
    const unknown = one.bases.filter((base) => !bases.includes(base))
    if (unknown.length > 0) throw new Error(`${name} extends ${unknown.join(', ')}, which the page does not describe.`)
    return sectionOf(type, { ...one, fields: one.fields.filter((field) => field.name !== 'type') })
  }
  const baseTables = bases.map((name) => {
    const one = known.get(name)
    if (!one) throw new Error(`There is no interface ${name} in packages/agent-loop/src/events.`)
    return sectionOf(name, one)
  })
  return `# Events

Each event, with its fields. \`node scripts/reference.ts\` makes this page from the types. [Concepts](concepts.md) shows the order of the events.

## Common fields

${baseTables.join('\n\n')}

## Durable events

Each is stored in a commit before anything that follows starts, and has the next number of its log as \`seq\`.

${membersOf('DurableEvent').map(describe).join('\n\n')}

## Deltas

They are live only, and have no \`seq\`. The durable event that ends their message or call holds the whole.

${membersOf('DeltaEvent').map(describe).join('\n\n')}
`
}

export const pages = { 'docs/options.md': optionsPage, 'docs/events.md': eventsPage } as const

if (import.meta.main) for (const [file, make] of Object.entries(pages)) writeFileSync(join(root, file), make())
