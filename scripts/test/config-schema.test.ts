import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { schemaOf } from '../../packages/bridge/src/check-schemas.ts'
import { checkConfig } from '../../packages/bridge/src/config.ts'

const folder = join(import.meta.dirname, '../../packages/bridge')

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

function checkerOf(file: string): { readonly checker: ts.TypeChecker; readonly source: ts.SourceFile } {
  const project = join(folder, 'tsconfig.json')
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(project, ts.sys.readFile.bind(ts.sys)).config, ts.sys, folder)
  const program = ts.createProgram([file], options)
  return { checker: program.getTypeChecker(), source: program.getSourceFile(file) as ts.SourceFile }
}

/** Returns a function that adds to each field of a schema its hover text in one of the types that have it. */
function describedBy(checker: ts.TypeChecker) {
  const textOf = (symbol: ts.Symbol): string => ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ')
  const membersOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type])
  const itemsOf = (type: ts.Type): readonly ts.Type[] =>
    membersOf(checker.getIndexTypeOfType(type, ts.IndexKind.Number) ?? checker.getNeverType())
  return function described(schema: Schema, types: readonly ts.Type[]): Schema {
    if (schema.items) return { ...schema, items: described(schema.items, types.flatMap(itemsOf)) }
    if (!schema.properties) return schema
    const properties = Object.entries(schema.properties).map(([name, field]) => {
      const symbols = types.flatMap((type) => type.getProperty(name) ?? [])
      const description = symbols.map(textOf).find((text) => text !== '')
      return [
        name,
        {
          ...(description !== undefined && { description }),
          ...described(field, symbols.map((symbol) => checker.getTypeOfSymbol(symbol)).flatMap(membersOf)),
        },
      ] as const
    })
    return { ...schema, properties: Object.fromEntries(properties) }
  }
}

/** Returns the names of fields without a description. */
function bareFields({ properties = {}, items }: Schema): readonly string[] {
  const fields = Object.entries(properties).flatMap(([name, field]) => [
    ...(field.description === undefined ? [name] : []),
    ...bareFields(field),
  ])
  return [...fields, ...(items ? bareFields(items) : [])]
}

it('B124: the published schema of the configuration matches its checks, with the hover text of each field', async () => {
  const { checker, source } = checkerOf(join(folder, 'src/config.ts'))
  const config = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol)
    .find(({ name }) => name === 'BridgeConfig') as ts.Symbol
  const { properties, ...rest } = describedBy(checker)(schemaOf(checkConfig) as Schema, [checker.getDeclaredTypeOfSymbol(config)])
  const $schema = { description: 'Where editors find this schema. The bridge does not read it.', type: 'string' }
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration of bowline-bridge',
    ...rest,
    properties: { $schema, ...properties },
  }
  expect(bareFields(schema)).toEqual([])
  // `vitest run --project scripts config-schema -u` writes it.
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(join(folder, 'config.schema.json'))
})
