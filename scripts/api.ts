// node scripts/api.ts: writes the report of the exports of each package, packages/<name>/api.md.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { compile } from './native-compiler.mjs'
import { libraries } from './packages.mjs'
import { root } from './setup.mjs'

/** Export of an entry of a package. */
interface PublicExport {
  readonly name: string
  /** Its declarations without comments. */
  readonly text: string
  /** Its comment without tags. Empty if it has none; undefined if another package declares the name. */
  readonly comment: string | undefined
}

export interface PackageApi {
  /** Exports by entry (`@scope/name/sub`), sorted by name. */
  readonly entries: ReadonlyMap<string, readonly PublicExport[]>
  /** Declarations to which exports refer but that no entry exports, sorted. */
  readonly internals: readonly string[]
}

/** Texts of declaration files by absolute path. */
type Files = ReadonlyMap<string, string>

/** Entry files of a package by the name under which users import them. */
type Entries = ReadonlyMap<string, string>

const printer = ts.createPrinter({ removeComments: true })

/** Reads the exports of packages from their declarations. Other packages that they import are not read. */
export function readApis<Name extends string>(files: Files, packages: ReadonlyMap<Name, Entries>): ReadonlyMap<Name, PackageApi> {
  const program = programOf(
    files,
    [...packages.values()].flatMap((entries) => [...entries.values()]),
  )
  return new Map([...packages].map(([name, entries]) => [name, readApi(program, entries)]))
}

function programOf(files: Files, entries: readonly string[]): ts.Program {
  const sources = new Map([...files].map(([path, text]) => [path, ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true)]))
  const host: ts.CompilerHost = {
    getSourceFile: (path) => sources.get(path),
    fileExists: (path) => files.has(path),
    readFile: (path) => files.get(path),
    resolveModuleNameLiterals: (literals, from) => literals.map(({ text }) => ({ resolvedModule: resolveIn(files, from, text) })),
    getDefaultLibFileName: () => '',
    getCurrentDirectory: () => '/',
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    writeFile: () => undefined,
  }
  return ts.createProgram([...entries], { noLib: true, types: [] }, host)
}

function resolveIn(files: Files, from: string, specifier: string): ts.ResolvedModuleFull | undefined {
  if (!specifier.startsWith('.')) return undefined
  const path = join(dirname(from), specifier).replace(/\.[jt]sx?$/, '.d.ts')
  return files.has(path) ? { resolvedFileName: path, extension: ts.Extension.Dts } : undefined
}

function readApi(program: ts.Program, files: Entries): PackageApi {
  const checker = program.getTypeChecker()
  const entries = new Map<string, readonly PublicExport[]>()
  const seen = new Set<ts.Symbol>()
  for (const [entry, path] of files) {
    const file = program.getSourceFile(path)
    const module = file && checker.getSymbolAtLocation(file)
    if (!module) throw new Error(`${entry} exports nothing: ${path}.`)
    entries.set(
      entry,
      checker
        .getExportsOfModule(module)
        .map((symbol) => readExport(checker, symbol, seen))
        .sort(byName),
    )
  }
  return { entries, internals: readInternals(checker, seen) }
}

function readExport(checker: ts.TypeChecker, symbol: ts.Symbol, seen: Set<ts.Symbol>): PublicExport {
  const { name } = symbol
  const { target, module } = follow(checker, symbol)
  if (module !== undefined)
    return { name, text: `export { ${name === target.name ? name : `${target.name} as ${name}`} } from '${module}'`, comment: undefined }
  const comment = ts.displayPartsToString(target.getDocumentationComment(checker)).trim()
  if (seen.has(target)) return { name, text: `export { ${name} } // as above`, comment }
  seen.add(target)
  return { name, text: textOf(target), comment }
}

/** Returns the symbol to which an alias refers, and the module that exports it if that is in another package. */
function follow(checker: ts.TypeChecker, symbol: ts.Symbol): { readonly target: ts.Symbol; readonly module?: string } {
  if (!(symbol.flags & ts.SymbolFlags.Alias)) return { target: symbol }
  const module = symbol.declarations?.map(moduleOf).find((text) => text !== undefined)
  if (module !== undefined && !module.startsWith('.')) return { target: symbol, module }
  const next = checker.getImmediateAliasedSymbol(symbol)
  if (!next) throw new Error(`The export ${symbol.name} leads nowhere.`)
  return follow(checker, next)
}

function moduleOf(declaration: ts.Node): string | undefined {
  const from = ts.findAncestor(declaration, (node) => ts.isExportDeclaration(node) || ts.isImportDeclaration(node))
  return from?.moduleSpecifier && ts.isStringLiteral(from.moduleSpecifier) ? from.moduleSpecifier.text : undefined
}

function textOf(symbol: ts.Symbol): string {
  return statementsOf(symbol)
    .map((statement) => printer.printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile()))
    .join('\n')
}

function statementsOf({ declarations = [] }: ts.Symbol): readonly ts.Statement[] {
  return declarations.flatMap(
    (declaration) =>
      (ts.findAncestor(declaration, (node) => ts.isStatement(node) && ts.isSourceFile(node.parent)) as ts.Statement | undefined) ?? [],
  )
}

/** Returns all declarations to which the exports refer, directly or indirectly. */
function readInternals(checker: ts.TypeChecker, exported: ReadonlySet<ts.Symbol>): readonly string[] {
  const found = new Set(exported)
  const visit = (node: ts.Node): void => {
    const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined
    const target = symbol && follow(checker, symbol)
    if (target && target.module === undefined && target.target.declarations?.some((declaration) => isTopLevel(declaration)))
      found.add(target.target)
    ts.forEachChild(node, visit)
  }
  // The loop also visits items that are added to the set during it.
  for (const symbol of found) for (const statement of statementsOf(symbol)) visit(statement)
  return [...new Set([...found].filter((symbol) => !exported.has(symbol)).map(textOf))].sort()
}

function isTopLevel(declaration: ts.Declaration): boolean {
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  return ts.isStatement(statement) && ts.isSourceFile(statement.parent)
}

function byName(a: PublicExport, b: PublicExport): number {
  return a.name < b.name ? -1 : 1
}

/** Returns the exports of this package whose comment is not a sentence: fewer than three words before its first tag. */
export function bareExports({ entries }: PackageApi): readonly string[] {
  const bare = [...entries].flatMap(([entry, exports]) =>
    exports.filter(({ comment }) => comment !== undefined && comment.split(/\s+/).length < 3).map(({ name }) => `${entry} ${name}`),
  )
  return bare.sort()
}

/** Returns a report as Markdown: one block per entry, with all its declarations. */
export function reportOf({ entries, internals }: PackageApi): string {
  const blocks = [...entries].map(([entry, exports]) =>
    section(
      entry,
      exports.map(({ text }) => text),
    ),
  )
  if (internals.length > 0) blocks.push(section('Referred to, not exported', internals))
  return `Written by \`npm run api\`. Do not edit.\n\n${blocks.join('\n')}`
}

function section(title: string, texts: readonly string[]): string {
  return `## ${title}\n\n\`\`\`ts\n${texts.join('\n')}\n\`\`\`\n`
}

/** Returns the path of a package's report. */
export function reportFile(name: string): string {
  return join(root, 'packages', name, 'api.md')
}

/** Compiles the packages' declarations into a temporary folder and reads their exports, by folder name. Takes a few seconds. */
export function readWorkspace(): ReadonlyMap<string, PackageApi> {
  const work = mkdtempSync(join(root, 'node_modules/api-'))
  try {
    const packages = libraries().map((published) => ({ ...published, sources: sourcesOf(published.folder) }))
    writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(configOf(work, packages)))
    // Several checkers would compute the same types. One takes two thirds of the CPU time.
    if (!compile(['--checkers', '1', '-p', join(work, 'tsconfig.json')]))
      throw new Error('The declarations of the packages cannot be written.')
    const paths = readdirSync(work, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.d.ts'))
      .map((path) => join(work, path))
    const declared = (source: string) => join(work, relative(join(root, 'packages'), source)).replace(/\.tsx?$/, '.d.ts')
    return readApis(
      new Map(paths.map((path) => [path, readFileSync(path, 'utf8')])),
      new Map(
        packages.map(({ folder, entries, sources }) => [
          relative(join(root, 'packages'), folder),
          new Map(entries.map((entry, index) => [entry, declared(sources[index] ?? '')])),
        ]),
      ),
    )
  } finally {
    rmSync(work, { recursive: true })
  }
}

function sourcesOf(folder: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  return Object.values(exports).map((source) => join(folder, source))
}

/**
 * Returns the configuration of one program for all packages. They find each other by path, because the compiler writes no
 * declarations for files in `node_modules`.
 */
function configOf(work: string, packages: readonly { readonly entries: readonly string[]; readonly sources: readonly string[] }[]): object {
  const paths = Object.fromEntries(packages.flatMap(({ entries, sources }) => entries.map((entry, index) => [entry, [sources[index]]])))
  return {
    extends: join(root, 'packages/client/tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      rootDir: join(root, 'packages'),
      outDir: work,
      paths,
    },
    files: packages.flatMap(({ sources }) => sources),
    include: [],
  }
}

if (import.meta.main) for (const [name, api] of readWorkspace()) writeFileSync(reportFile(name), reportOf(api))
