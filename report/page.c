/* page.c - the frame of an HTML page. */
#include "report.h"

const char rep_page_style[] =
#include REP_PAGE_CSS
    ;

void rep_page_begin(FILE *out, const char *title, const char *generator, const char *style) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">",
          out);
    if (generator != NULL) {
        fprintf(out, "<meta name=\"generator\" content=\"%s\">\n", generator);
    }
    fputs("<title>", out);
    rep_xml(out, title);
    fprintf(out, "</title>\n<style>%s%s</style></head>\n<body>\n", rep_page_style, style == NULL ? "" : style);
}

void rep_page_end(FILE *out) {
    fputs("</main>\n</body></html>\n", out);
}

void rep_tile(FILE *out, const char *class, const char *figure, const char *what) {
    fprintf(out, "<div class=\"tile\"><b%s%s%s>%s</b><span>%s</span></div>\n", class == NULL ? "" : " class=\"",
            class == NULL ? "" : class, class == NULL ? "" : "\"", figure, what);
}
