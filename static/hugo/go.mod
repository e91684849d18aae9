module commentsvc.example/hugo

go 1.16
