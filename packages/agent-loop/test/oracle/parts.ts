/** How the scripts are shared out among tests, so that none takes long: 3,200 conversations in two files, and 1,800 that die. */
export const scriptsPerPart = 50
export const conversationParts = Array.from({ length: 32 }, (_, part) => part)
export const crashParts = Array.from({ length: 36 }, (_, part) => part)
