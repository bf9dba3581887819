/** How sections reach files. The root entry has no Node built-ins, so that it comes from outside. */
export interface FileReader {
  /** The whole file as text. Must reject when it is missing, is no text, or is too large. */
  readText(path: string): Promise<string>
  /** False for what is not there. Must reject when it is unknown. */
  isFolder(path: string): Promise<boolean>
}

// Several installed copies of this package share one reader.
const place = Symbol.for('bowline.agent-loop.file-reader')
const registry = globalThis as { [place]?: FileReader }

export function installFileReader(reader: FileReader): void {
  registry[place] = reader
}

/** Throws, with what to do about it, when no reader is installed. */
export function fileReader(): FileReader {
  const reader = registry[place]
  if (!reader) throw new Error("files are read only after import '@bowline/agent-loop/node'")
  return reader
}
