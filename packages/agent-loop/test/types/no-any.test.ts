import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const entries = ['index', 'events/index', 'testing/index', 'node/index']
  .map((name) => `${root}src/${name}.ts`)
  .filter((file) => ts.sys.fileExists(file))

const { config } = ts.readConfigFile(`${root}tsconfig.json`, (file) => ts.sys.readFile(file)) as { config: object }
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root)

const example = `${root}src/example.ts`
const exampleText = `
  export interface A { readonly b: { readonly c: readonly any[] } }
  export function f(x: Map<string, Promise<any>>): void {}
  export type G<T> = T extends string ? any : { h(): AsyncIterable<string> }
  export const i = JSON.parse('1')
  export type Clean = Record<string, unknown> | Set<'x'>
`
// One program for both tests, since most of the time goes into reading the library.
const program = ts.createProgram([...entries, example], options, withFile(example, exampleText))

function searchOf(files: readonly string[]): AnySearch {
  const search = new AnySearch(program.getTypeChecker())
  for (const file of files) {
    const source = program.getSourceFile(file)
    if (source) search.module(source)
  }
  return search
}

/** Adds a module of this package that is not on disk. */
function withFile(name: string, text: string): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  const parsed = ts.createSourceFile(name, text, ts.ScriptTarget.ES2024)
  return {
    ...host,
    fileExists: (file) => file === name || fileExists(file),
    getSourceFile: (file, ...more) => (file === name ? parsed : getSourceFile(file, ...more)),
  }
}

/** Walks everything that a module exports and this package declares, and collects the places of `any`. */
class AnySearch {
  readonly found: string[] = []
  readonly #seen = new Set<ts.Type>()
  readonly #checker: ts.TypeChecker

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  /** Number of types that were checked. */
  get visited(): number {
    return this.#seen.size
  }

  module(file: ts.SourceFile): void {
    const module = this.#checker.getSymbolAtLocation(file)
    if (!module) throw new Error(`${file.fileName} exports nothing`)
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported
      if (symbol.flags & ts.SymbolFlags.Type) this.#type(this.#checker.getDeclaredTypeOfSymbol(symbol), exported.name)
      if (symbol.flags & ts.SymbolFlags.Value) this.#type(this.#checker.getTypeOfSymbol(symbol), exported.name)
    }
  }

  #type(type: ts.Type, place: string): void {
    if (type.flags & ts.TypeFlags.Any) return void this.found.push(place)
    if (this.#seen.has(type)) return
    this.#seen.add(type)
    const isLibrary = isFrom(type, /\/typescript\/lib\/lib\./)
    for (const argument of this.#argumentsOf(type)) if (isLibrary || this.#isOurs(type)) this.#type(argument, `${place}<>`)
    if (!this.#isOurs(type)) return
    if (type.isUnionOrIntersection()) for (const part of type.types) this.#type(part, place)
    for (const base of type.getBaseTypes() ?? []) this.#type(base, place)
    for (const property of type.getProperties()) this.#property(property, place)
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) this.#signature(signature, place)
    for (const info of this.#checker.getIndexInfosOfType(type)) this.#type(info.type, `${place}[]`)
    if (type.flags & ts.TypeFlags.Conditional) {
      const {
        root: { node },
      } = type as ts.ConditionalType
      this.#type(this.#checker.getTypeFromTypeNode(node.trueType), `${place}?`)
      this.#type(this.#checker.getTypeFromTypeNode(node.falseType), `${place}:`)
    }
  }

  #property(property: ts.Symbol, place: string): void {
    if (property.declarations?.every((each) => !isOurFile(each))) return
    this.#type(this.#checker.getTypeOfSymbol(property), `${place}.${property.name}`)
  }

  #signature(signature: ts.Signature, place: string): void {
    for (const parameter of signature.getParameters()) this.#type(this.#checker.getTypeOfSymbol(parameter), `${place}(${parameter.name})`)
    this.#type(signature.getReturnType(), `${place}()`)
    for (const parameter of signature.getTypeParameters() ?? []) {
      const constraint = parameter.getConstraint()
      if (constraint) this.#type(constraint, `${place}<extends>`)
    }
  }

  /** Returns the written type arguments: the library's iterators have `any` as a default. */
  #argumentsOf(type: ts.Type): readonly ts.Type[] {
    if (!((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference)) return type.aliasTypeArguments ?? []
    const { typeParameters = [] } = (type as ts.TypeReference).target
    const isDefault = (argument: ts.Type, place: number) => typeParameters[place]?.getDefault() === argument
    const written = this.#checker.getTypeArguments(type as ts.TypeReference).filter((argument, place) => !isDefault(argument, place))
    return [...(type.aliasTypeArguments ?? []), ...written]
  }

  /** Returns whether this package declares the type. A union has no symbol of its own: its parts are checked instead. */
  #isOurs(type: ts.Type): boolean {
    const symbol = type.aliasSymbol ?? type.getSymbol()
    return symbol?.declarations === undefined || symbol.declarations.some(isOurFile)
  }
}

function isOurFile(declaration: ts.Declaration): boolean {
  return declaration.getSourceFile().fileName.startsWith(`${root}src/`)
}

function isFrom(type: ts.Type, pattern: RegExp): boolean {
  const symbol = type.aliasSymbol ?? type.getSymbol()
  return symbol?.declarations?.some((each) => pattern.test(each.getSourceFile().fileName)) ?? false
}

describe('public types', () => {
  it('the search finds any at every position', () => {
    const search = searchOf([example])
    expect(search.found.sort()).toEqual(['A.b.c<>', 'G?', 'f(x)<><>', 'i'])
  }, 60_000)

  it('no exported type of this package contains any', () => {
    const search = searchOf(entries)
    expect(search.found).toEqual([])
    expect(search.visited).toBeGreaterThan(300)
  }, 60_000)
})
