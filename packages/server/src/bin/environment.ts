import type { CommandEnvironment } from './command.ts'

/** Environment of this process. */
export const processEnvironment: CommandEnvironment = {
  environment: process.env,
  folder: process.cwd(),
  print: (text) => write(process.stdout, text),
  tell: (text) => write(process.stderr, text),
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.write(`${text}\n`, () => resolve())
  return promise
}
