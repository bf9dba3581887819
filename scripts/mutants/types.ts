import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

/** Says whether a file with another text still has the types that it needs. */
export class TypeCheck {
  readonly #root: string
  readonly #services = new Map<string, ts.LanguageService>()
  /** What is looked at now, instead of the file. */
  #changed: { readonly file: string; readonly text: string; readonly version: number } | undefined
  #version = 0

  /** `root` is that of the copy of the tree. */
  constructor(root: string) {
    this.#root = root
  }

  accepts(source: string, text: string): boolean {
    const file = join(this.#root, source)
    this.#changed = { file, text, version: ++this.#version }
    const service = this.#serviceOf(source)
    return service.getSyntacticDiagnostics(file).length === 0 && service.getSemanticDiagnostics(file).length === 0
  }

  /** By the program that checks the source in the tree: that of its package, or the one of all that runs on Node. */
  #serviceOf(source: string): ts.LanguageService {
    const own = join(this.#root, source.split('/').slice(0, 2).join('/'), 'tsconfig.json')
    const config = existsSync(own) ? own : join(this.#root, 'tsconfig.json')
    const service = this.#services.get(config) ?? this.#newService(config)
    this.#services.set(config, service)
    return service
  }

  #newService(config: string): ts.LanguageService {
    const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(config, (file) => ts.sys.readFile(file)).config, ts.sys, dirname(config))
    return ts.createLanguageService({
      getCompilationSettings: () => ({ ...options, noEmit: true, noUnusedLocals: false, noUnusedParameters: false }),
      getCurrentDirectory: () => this.#root,
      getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
      getScriptFileNames: () => (this.#changed ? [this.#changed.file] : []),
      getScriptVersion: (file) => (this.#changed?.file === file ? String(this.#changed.version) : '0'),
      getScriptSnapshot: (file) => {
        const text = this.#changed?.file === file ? this.#changed.text : ts.sys.readFile(file)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      fileExists: (file) => ts.sys.fileExists(file),
      readFile: (file) => ts.sys.readFile(file),
      readDirectory: (...given) => ts.sys.readDirectory(...given),
      directoryExists: (folder) => ts.sys.directoryExists(folder),
      getDirectories: (folder) => ts.sys.getDirectories(folder),
      realpath: (path) => ts.sys.realpath?.(path) ?? path,
    })
  }
}
