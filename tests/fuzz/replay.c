/* The `main` of a fuzz target without libFuzzer: it runs every file of the given folders, each
 * in a block of exactly its size, so that a sanitizer sees a read beyond the end. libFuzzer's
 * options are ignored. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static void replay(const char *folder, const char *name)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ALLOW(file && fstat(fileno(file), &status) == 0);
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size);
    ALLOW(fread(data, 1, size, file) == size);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

int main(int count, char **folders)
{
    unsigned files = 0;
    for (int i = 1; i < count; i++) {
        if (folders[i][0] == '-')
            continue;
        DIR *folder = opendir(folders[i]);
        ALLOW(folder != NULL);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (entry->d_name[0] == '.')
                continue;
            replay(folders[i], entry->d_name);
            files++;
        }
        closedir(folder);
    }
    printf("%u inputs replayed\n", files);
    return files > 0 ? 0 : 1;
}
