import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** Objects that users write, in addition to those with such names. */
const written = /Options$|Policy$|Limits$|Facts$|^(?:Extension|Guardrail|Footer|DocsSection|PromptSections|StepPatch|ToolDeclaration)$/

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2024, true)
}

/** Returns the interfaces that the entries of a package export. */
function exportedInterfaces(folder: string): readonly ts.InterfaceDeclaration[] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  const entries = Object.values(exports).map((entry) => join(folder, entry))
  return entries.flatMap((entry) =>
    parse(entry)
      .statements.filter(ts.isExportDeclaration)
      .flatMap((exported) => interfacesOf(entry, exported)),
  )
}

function interfacesOf(entry: string, { exportClause, moduleSpecifier }: ts.ExportDeclaration): readonly ts.InterfaceDeclaration[] {
  if (
    !exportClause ||
    !ts.isNamedExports(exportClause) ||
    !moduleSpecifier ||
    !ts.isStringLiteral(moduleSpecifier) ||
    !moduleSpecifier.text.startsWith('.')
  )
    return []
  const names = new Set(exportClause.elements.map(({ name, propertyName = name }) => propertyName.text))
  return parse(join(dirname(entry), moduleSpecifier.text))
    .statements.filter(ts.isInterfaceDeclaration)
    .filter(({ name }) => names.has(name.text))
}

const packages = globSync('packages/*/package.json', { cwd: root })
  .map((file) => dirname(file))
  .sort()

describe('hover text', () => {
  it.each(packages)('A189: every option that %s accepts has a description', (folder) => {
    const interfaces = exportedInterfaces(join(root, folder)).filter(({ name }) => written.test(name.text))
    const bare = interfaces.flatMap(({ name, members }) => {
      return members
        .filter((member) => ts.getJSDocCommentsAndTags(member).length === 0)
        .map((member) => `${name.text}.${member.name?.getText()}`)
    })
    expect(interfaces.length).toBeGreaterThan(1)
    expect([...new Set(bare)]).toEqual([])
  })
})
