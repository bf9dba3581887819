// The theme with fonts asks another host for a style sheet.
export { default } from 'vitepress/theme-without-fonts'
