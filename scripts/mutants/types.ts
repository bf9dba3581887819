import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** Source file, relative to the root, with a changed text. */
export interface ChangedSource {
  readonly source: string
  readonly text: string
}

/**
 * Returns for each changed source whether it still compiles. All are checked in one program, as copies next to their sources, so
 * that shared types are computed once. Throws if the copy of an unchanged source has errors.
 */
export function acceptedByTypes(root: string, changed: readonly ChangedSource[]): readonly boolean[] {
  const accepted = new Map<ChangedSource, boolean>()
  const byConfig = Map.groupBy(changed, ({ source }) => configOf(root, source))
  for (const [config, ofConfig] of byConfig) check(root, config, ofConfig, accepted)
  return changed.map((one) => accepted.get(one) === true)
}

/** Returns the configuration that checks the source: that of its package, or the one of all code that runs on Node. */
function configOf(root: string, source: string): string {
  const own = join(root, source.split('/').slice(0, 2).join('/'), 'tsconfig.json')
  return existsSync(own) ? own : join(root, 'tsconfig.json')
}

function check(root: string, config: string, changed: readonly ChangedSource[], accepted: Map<ChangedSource, boolean>): void {
  const texts = new Map<string, string>()
  const copyOf = ({ source, text }: ChangedSource, name: string): string => {
    const file = join(root, source.replace(/\.(tsx?)$/, `.${name}.$1`))
    texts.set(file, text)
    return file
  }
  const sources = new Set(changed.map(({ source }) => source))
  const unchanged = [...sources].map((source) => copyOf({ source, text: readFileSync(join(root, source), 'utf8') }, 'unchanged'))
  const copies = changed.map((one, place) => copyOf(one, `mistake-${place}`))
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(config, (file) => ts.sys.readFile(file)).config,
    ts.sys,
    join(config, '..'),
  )
  const wanted = { ...options, noEmit: true, incremental: false, composite: false, noUnusedLocals: false, noUnusedParameters: false }
  const host = ts.createCompilerHost(wanted)
  const program = ts.createProgram([...unchanged, ...copies], wanted, {
    ...host,
    readFile: (file) => texts.get(file) ?? host.readFile(file),
    fileExists: (file) => texts.has(file) || host.fileExists(file),
    getSourceFile: (file, version, ...rest) => {
      const text = texts.get(file)
      return text === undefined ? host.getSourceFile(file, version, ...rest) : ts.createSourceFile(file, text, version)
    },
  })
  const errorsOf = (file: string): readonly ts.Diagnostic[] => {
    const found = program.getSourceFile(file)
    if (!found) throw new Error(`TypeScript did not read ${file}.`)
    return [...program.getSyntacticDiagnostics(found), ...program.getSemanticDiagnostics(found)]
  }
  for (const file of unchanged) {
    const [error] = errorsOf(file)
    if (error)
      throw new Error(`A copy of an unchanged source has errors: ${file}: ${ts.flattenDiagnosticMessageText(error.messageText, ' ')}`)
  }
  changed.forEach((one, place) => accepted.set(one, errorsOf(copies[place] ?? '').length === 0))
}
